/** The phases of a debate and the lanes that go through them, out of what is known of its run. */

import { goesOn, type Run } from "../../../state/run.ts";
import { isAnswered, isAsking, isLive, type Turn } from "../../../state/turn.ts";
import type { LaneReport } from "../../../api/types.ts";

const PHASES = ["initial", "debate", "synthesis"] as const;
export type PhaseName = (typeof PHASES)[number];

export interface Phase {
  readonly name: PhaseName;
  readonly state: "ahead" | "now" | "done" | "stopped" | "skipped";
  readonly turns: readonly Turn[];
  /** Those that were made before something was tried again: only of syntheses. */
  readonly earlier: readonly Turn[];
  readonly finished: number;
  /** Of how many. */
  readonly expected: number;
}

export interface Lane {
  readonly participant: string;
  readonly state: "waiting" | "speaking" | "answered" | "failed" | "late" | "stopped";
  /** Whether it waits for a person to allow a call. */
  readonly isAsking: boolean;
  /** The phase that it is in, or came to. */
  readonly phase: "initial" | "debate";
  readonly model: string | null;
}

/** Say how each participant fares: its newest turn tells, and where there is none, what was read of its lane. */
export function lanesOf(
  run: Run,
  seats: readonly string[],
  reported: readonly LaneReport[],
): readonly Lane[] {
  return seats.map((participant) => {
    const turn = laneTurn(run, participant);
    const read = reported.find((one) => one.participant === participant);
    return {
      participant,
      state: laneState(turn, read),
      isAsking: turn !== undefined && isAsking(turn),
      phase: turn?.stage === "debate" ? "debate" : "initial",
      model: turn?.model ?? read?.model ?? null,
    };
  });
}

function laneTurn(run: Run, participant: string): Turn | undefined {
  const own = run.turns.filter((turn) => turn.participant === participant);
  const speaking = own.find((turn) => isLive(turn) && turn.stage !== "synthesis");
  return (
    speaking ?? own.find((turn) => turn.stage === "debate") ?? own.find((turn) => turn.stage === "initial")
  );
}

function laneState(turn: Turn | undefined, read: LaneReport | undefined): Lane["state"] {
  if (!turn) return read?.status === "error" ? (read.late ? "late" : "failed") : "waiting";
  if (isLive(turn)) return turn.state === "speaking" ? "speaking" : "waiting";
  if (isAnswered(turn)) return "answered";
  if (read?.late) return "late";
  return turn.state === "failed" ? "failed" : "stopped";
}

/** Tell whether it has no answer; nothing went wrong where it was stopped. */
export const isOut = (lane: Lane): boolean => ["failed", "late", "stopped"].includes(lane.state);

export function phasesOf(run: Run, lanes: readonly Lane[]): readonly Phase[] {
  const now = goesOn(run) ? current(run) : null;
  return PHASES.map((name) => {
    const all = run.turns.filter((turn) => turn.stage === name);
    const turns = name === "synthesis" ? all.filter((turn) => turn.round === newestRound(all)) : all;
    return {
      name,
      state: stateOf(name, now, turns, run),
      turns,
      earlier: all.filter((turn) => !turns.includes(turn)),
      finished: turns.filter(isAnswered).length,
      expected: expected(name, run, lanes),
    };
  });
}

/** Where the run is: at the first phase in which somebody speaks, or at the one that was opened last. */
function current(run: Run): PhaseName {
  const speaking = PHASES.find((name) => run.turns.some((turn) => turn.stage === name && isLive(turn)));
  const opened = run.stages.at(-1)?.stage;
  return speaking ?? PHASES.find((name) => name === opened) ?? "initial";
}

function stateOf(name: PhaseName, now: PhaseName | null, turns: readonly Turn[], run: Run): Phase["state"] {
  if (name === now) return "now";
  const isAhead = now !== null && PHASES.indexOf(name) > PHASES.indexOf(now);
  if (turns.length) return isCutShort(turns, run) ? "stopped" : "done";
  return isAhead ? "ahead" : "skipped";
}

/** Where only some are stopped, the others may still have come to the end of it. */
function isCutShort(turns: readonly Turn[], run: Run): boolean {
  const stopped = turns.filter(({ state }) => state === "stopped" || state === "interrupted").length;
  return stopped > 0 && (stopped === turns.length || run.status === "stopped");
}

function newestRound(turns: readonly Turn[]): number {
  return Math.max(0, ...turns.map((turn) => turn.round));
}

function expected(name: PhaseName, run: Run, lanes: readonly Lane[]): number {
  if (name === "synthesis") return 1;
  if (name === "initial") return lanes.length;
  const stands = (who: string) =>
    run.turns.some((turn) => turn.participant === who && turn.stage === "initial" && isAnswered(turn));
  return lanes.filter((lane) => lane.phase === "debate" || stands(lane.participant)).length;
}
