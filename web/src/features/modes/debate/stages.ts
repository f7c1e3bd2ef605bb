/** Stages and lanes of a debate, from the state of its run. */

import { isLiveRun, type Run } from "../../../state/run.ts";
import { isAnswered, isAwaitingApproval, isLiveTurn, type Turn } from "../../../state/turn.ts";
import type { LaneReport } from "../../../api/types.ts";

const STAGE_NAMES = ["initial", "debate", "synthesis"] as const;
export type StageName = (typeof STAGE_NAMES)[number];

export interface DebateStage {
  readonly name: StageName;
  readonly state: "ahead" | "now" | "done" | "stopped" | "skipped";
  readonly turns: readonly Turn[];
  /** Syntheses from before a retry. */
  readonly earlierTurns: readonly Turn[];
  readonly finishedCount: number;
  /** The expected number. */
  readonly expectedCount: number;
}

export interface Lane {
  readonly participant: string;
  readonly state: "waiting" | "speaking" | "answered" | "failed" | "late" | "stopped";
  /** Whether a tool call waits for approval. */
  readonly isAwaitingApproval: boolean;
  /** The current or last stage of the lane. */
  readonly stage: "initial" | "debate";
  readonly model: string | null;
}

/** The titles of a stage and of one answer in it. */
export const STAGE_LABELS: Record<StageName, { title: string; answer: string; hint: string }> = {
  initial: { title: "First answers", answer: "First answer", hint: "Everyone answers alone." },
  debate: {
    title: "Debate",
    answer: "After reading the others",
    hint: "Everyone reads the others and answers again.",
  },
  synthesis: { title: "Synthesis", answer: "Synthesis", hint: "One participant writes the final answer." },
};

export const LANE_LABELS: Record<Lane["state"], string> = {
  waiting: "waiting",
  speaking: "speaking",
  answered: "answered",
  failed: "failed",
  late: "too late",
  stopped: "stopped",
};

/** State of each lane: from its newest turn, or else from the stored report. */
export function buildLanes(
  run: Run,
  participants: readonly string[],
  laneReports: readonly LaneReport[],
): readonly Lane[] {
  return participants.map((participant) => {
    const turn = laneTurn(run, participant);
    const read = laneReports.find((one) => one.participant === participant);
    return {
      participant,
      state: laneState(turn, read),
      isAwaitingApproval: turn !== undefined && isAwaitingApproval(turn),
      stage: turn?.stage === "debate" ? "debate" : "initial",
      model: turn?.model ?? read?.model ?? null,
    };
  });
}

function laneTurn(run: Run, participant: string): Turn | undefined {
  const own = run.turns.filter((turn) => turn.participant === participant);
  const speaking = own.find((turn) => isLiveTurn(turn) && turn.stage !== "synthesis");
  return speaking ?? own.find((turn) => turn.stage === "debate") ?? own.find((turn) => turn.stage === "initial");
}

function laneState(turn: Turn | undefined, report: LaneReport | undefined): Lane["state"] {
  if (!turn) return report?.status === "error" ? (report.late ? "late" : "failed") : "waiting";
  if (isLiveTurn(turn)) return turn.state === "speaking" ? "speaking" : "waiting";
  if (isAnswered(turn)) return "answered";
  if (report?.late) return "late";
  return turn.state === "failed" ? "failed" : "stopped";
}

/** Return whether a lane has no answer. A stopped lane did not fail. */
export const hasNoAnswer = (lane: Lane): boolean => ["failed", "late", "stopped"].includes(lane.state);

export function buildStages(run: Run, lanes: readonly Lane[]): readonly DebateStage[] {
  const now = isLiveRun(run) ? currentStage(run) : null;
  return STAGE_NAMES.map((name) => {
    const all = run.turns.filter((turn) => turn.stage === name);
    const turns = name === "synthesis" ? all.filter((turn) => turn.round === newestRound(all)) : all;
    return {
      name,
      state: stageState(name, now, turns, run),
      turns,
      earlierTurns: all.filter((turn) => !turns.includes(turn)),
      finishedCount: turns.filter(isAnswered).length,
      expectedCount: expectedAnswers(name, run, lanes),
    };
  });
}

/** The current stage: the first with a live turn, or the last opened one. */
function currentStage(run: Run): StageName {
  const speaking = STAGE_NAMES.find((name) => run.turns.some((turn) => turn.stage === name && isLiveTurn(turn)));
  const opened = run.stages.at(-1)?.stage;
  return speaking ?? STAGE_NAMES.find((name) => name === opened) ?? "initial";
}

function stageState(name: StageName, now: StageName | null, turns: readonly Turn[], run: Run): DebateStage["state"] {
  if (name === now) return "now";
  const isAhead = now !== null && STAGE_NAMES.indexOf(name) > STAGE_NAMES.indexOf(now);
  if (turns.length) return isStoppedEarly(turns, run) ? "stopped" : "done";
  return isAhead ? "ahead" : "skipped";
}

/** If only some lanes are stopped, the others may still finish the stage. */
function isStoppedEarly(turns: readonly Turn[], run: Run): boolean {
  const stopped = turns.filter(({ state }) => state === "stopped" || state === "interrupted").length;
  return stopped > 0 && (stopped === turns.length || run.status === "stopped");
}

function newestRound(turns: readonly Turn[]): number {
  return Math.max(0, ...turns.map((turn) => turn.round));
}

function expectedAnswers(name: StageName, run: Run, lanes: readonly Lane[]): number {
  if (name === "synthesis") return 1;
  if (name === "initial") return lanes.length;
  const stands = (who: string) =>
    run.turns.some((turn) => turn.participant === who && turn.stage === "initial" && isAnswered(turn));
  return lanes.filter((lane) => lane.stage === "debate" || stands(lane.participant)).length;
}
