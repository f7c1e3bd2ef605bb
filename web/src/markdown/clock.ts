/** Animation frames and key presses of the browser. */

import type { Clock } from "./painter.ts";

export function browserClock(): Clock {
  let pressed = false;
  addEventListener("keydown", () => (pressed = true), { capture: true, passive: true });
  return {
    now: () => performance.now(),
    requestFrame: (then) => void requestAnimationFrame(then),
    hasKeyPress() {
      const was = pressed;
      pressed = false;
      return was;
    },
  };
}
