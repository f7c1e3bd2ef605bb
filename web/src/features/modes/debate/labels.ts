/** The words for phases and lanes, the same wherever they are spoken of. */

import type { Lane, PhaseName } from "./phases.ts";

export const PHASE_LABELS: Record<PhaseName, { title: string; hint: string }> = {
  initial: { title: "First answers", hint: "Everybody answers alone." },
  debate: { title: "Debate", hint: "Everybody reads the others and thinks again." },
  synthesis: { title: "Synthesis", hint: "One sums up for the table." },
};

export const LANE_LABELS: Record<Lane["state"], string> = {
  waiting: "waiting",
  speaking: "speaking",
  answered: "answered",
  failed: "failed",
  late: "too late",
  stopped: "stopped",
};
