/** What the modes are, as the server tells it. */

import { MODE_NAMES, MODES, type ModeSpec, type Preset } from "../api/types.ts";

export type Mode = Preset["mode"];

const DEFAULT_MODE: Mode = "parallel";

/** The mode, or the default if an older page does not know it. */
export function knownMode(mode: string): Mode {
  return MODE_NAMES.find((one) => one === mode) ?? DEFAULT_MODE;
}

/** The spec of a mode, or of the default if the mode is not known. */
export function modeSpec(mode: string | null): ModeSpec {
  return MODES[mode ?? DEFAULT_MODE] ?? MODES[DEFAULT_MODE]!;
}
