/** Labels of phases and lanes. */

import type { Lane, PhaseName } from "./phases.ts";

export const PHASE_LABELS: Record<PhaseName, { title: string; hint: string }> = {
  initial: { title: "First answers", hint: "Everyone answers alone." },
  debate: { title: "Debate", hint: "Everyone reads the others and answers again." },
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
