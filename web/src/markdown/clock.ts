/** The frames and keys of the browser. */

import type { Clock } from "./painter.ts";

export function browserClock(): Clock {
  let pressed = false;
  addEventListener("keydown", () => (pressed = true), { capture: true, passive: true });
  return {
    now: () => performance.now(),
    frame: (then) => void requestAnimationFrame(then),
    isTyped() {
      const was = pressed;
      pressed = false;
      return was;
    },
  };
}
