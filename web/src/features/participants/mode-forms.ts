/** What the page needs to set up each mode: its drawing and its options. The view of a run is in `ModeSpec`. */

import type { Component } from "svelte";
import type { Mode } from "../../state/run.ts";
import AdvisorOptions from "./AdvisorOptions.svelte";
import DebateOptions from "./DebateOptions.svelte";
import LessonOptions from "./LessonOptions.svelte";
import RoundOptions from "./RoundOptions.svelte";
import type { DiscussionSetup } from "./setup.ts";

/** Who sees whom. Paths are in the format of SVG. */
interface Drawing {
  readonly user?: readonly [x: number, y: number];
  readonly participants: readonly (readonly [x: number, y: number, who: number, radius?: number])[];
  readonly arrows: string;
  readonly isBidirectional?: boolean;
  /** Walls, and choices that were not made. */
  readonly faintLines?: string;
  readonly lines?: string;
  readonly synthesis?: { readonly cx: number; readonly cy: number; readonly r: number };
  readonly director?: string;
  readonly board?: Readonly<Record<"x" | "y" | "width" | "height" | "rx", number>>;
}

interface ModeForm {
  readonly drawing: Drawing;
  readonly Options?: Component<{ setup: DiscussionSetup }, object, "setup">;
  /** Summary of the options. */
  readonly optionsSummary?: string;
}

export const MODE_FORMS: Readonly<Record<Mode, ModeForm>> = {
  single: {
    drawing: { participants: [[62, 28, 0]], arrows: "M19 28H53", isBidirectional: true },
  },
  parallel: {
    drawing: {
      participants: [
        [72, 9, 0],
        [72, 28, 1],
        [72, 47, 2],
      ],
      arrows: "M18 25L63 11M19 28H63M18 31L63 45",
      faintLines: "M46 18.5H86M46 37.5H86",
    },
  },
  consensus: {
    drawing: {
      participants: [
        [48, 10, 0],
        [80, 28, 1],
        [48, 46, 2],
      ],
      arrows: "M19 28H38M56 14L73 24M73 32L56 42M48 19V37",
      isBidirectional: true,
    },
    Options: RoundOptions,
    optionsSummary: "rounds",
  },
  debate: {
    drawing: {
      participants: [
        [34, 9, 0, 4.5],
        [34, 28, 1, 4.5],
        [34, 47, 2, 4.5],
        [64, 9, 0],
        [64, 28, 1],
        [64, 47, 2],
      ],
      arrows:
        "M17 26L27 12M18 28H26M17 30L27 44M41 11L58 25M41 13L59 41M41 26L58 12M41 30L58 44M41 43L59 15M41 45L58 31",
      lines: "M70 11L82 23M71 28H80M70 45L82 33",
      synthesis: { cx: 87, cy: 28, r: 6 },
    },
    Options: DebateOptions,
    optionsSummary: "synthesis, deadline, ranking",
  },
  advisors: {
    drawing: {
      user: [44, 47],
      participants: [
        [10, 16, 0],
        [44, 9, 1],
        [78, 16, 2],
      ],
      arrows: "M17 21L37 42M44 18V38M71 21L51 42",
      isBidirectional: true,
      faintLines: "M27 4L32 26M61 4L56 26",
    },
    Options: AdvisorOptions,
    optionsSummary: "when they advise, synthesis",
  },
  directed: {
    drawing: {
      participants: [
        [54, 9, 0],
        [54, 28, 1],
        [54, 47, 2],
      ],
      arrows: "M17 28H22M38 28H46M61 10L72 20M61 28H72M61 46L72 36",
      faintLines: "M36 24L47 12M36 32L47 44",
      lines: "M78 21H88M78 27H85M78 34L82 31L86 35L89 30",
      director: "M30 21L37 28L30 35L23 28z",
      board: { x: 74, y: 12, width: 19, height: 32, rx: 2 },
    },
    Options: LessonOptions,
    optionsSummary: "turns, topic",
  },
};
