/**
 * Schedules rendering: all texts share 6 ms of a frame, in turn, each at most once every 66 ms. A text whose end is
 * not visible renders once a second, within 2 ms. One off screen comes after the others, and while it
 * grows it waits until it is visible. Remaining work continues in the next frame. Typing has priority.
 */

export interface Clock {
  now(): number;
  requestFrame(then: () => void): void;
  /** Return whether a key was pressed since the last call. */
  hasKeyPress(): boolean;
}

/** Render until the time is up, at least one step. Returns whether everything is rendered. */
type PaintStep = (isTimeUp: () => boolean) => boolean;

export const MIN_INTERVAL_MS = 66;
export const FRAME_BUDGET_MS = 6;
export const END_HIDDEN_INTERVAL_MS = 1_000;
export const END_HIDDEN_BUDGET_MS = 2;

export class Painter {
  isRequested = false;
  isFinal = false;
  isVisible = true;
  isEndVisible = true;
  lastPaintAt = -Infinity;
  readonly paint: PaintStep;
  readonly #scheduler: PaintScheduler;

  constructor(scheduler: PaintScheduler, paint: PaintStep) {
    this.#scheduler = scheduler;
    this.paint = paint;
  }

  /** Request rendering. The final state is rendered even off screen. */
  requestPaint(final: boolean): void {
    this.isRequested = true;
    this.isFinal = final;
    this.#scheduler.scheduleFrame();
  }

  /** Set whether any part of it is visible. */
  setVisible(seen: boolean): void {
    this.isVisible = seen;
    this.#scheduler.scheduleFrame();
  }

  /** Set whether its end is visible, where it grows. */
  setEndVisible(seen: boolean): void {
    this.isEndVisible = seen;
  }

  dispose(): void {
    this.#scheduler.removePainter(this);
  }

  get isWaiting(): boolean {
    return this.isRequested && (this.isVisible || this.isFinal);
  }

  isDue(now: number): boolean {
    return (
      this.isWaiting && now - this.lastPaintAt >= (this.#isUrgent ? MIN_INTERVAL_MS : END_HIDDEN_INTERVAL_MS)
    );
  }

  get budgetMs(): number {
    return this.#isUrgent ? FRAME_BUDGET_MS : END_HIDDEN_BUDGET_MS;
  }

  get #isUrgent(): boolean {
    return this.isEndVisible || this.isFinal;
  }
}

export class PaintScheduler {
  readonly #clock: Clock;
  /** In order of their turns: a rendered text moves to the end. */
  #painters: Painter[] = [];
  #isFrameRequested = false;
  #hasYielded = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  addPainter(paint: PaintStep): Painter {
    const painter = new Painter(this, paint);
    this.#painters.push(painter);
    return painter;
  }

  removePainter(painter: Painter): void {
    this.#painters = this.#painters.filter((one) => one !== painter);
  }

  scheduleFrame(): void {
    if (this.#isFrameRequested || !this.#painters.some((painter) => painter.isWaiting)) return;
    this.#isFrameRequested = true;
    this.#clock.requestFrame(() => this.#runFrame());
  }

  #runFrame(): void {
    this.#isFrameRequested = false;
    // A key that is held down must not block rendering.
    this.#hasYielded = this.#clock.hasKeyPress() && !this.#hasYielded;
    try {
      if (!this.#hasYielded) this.#paintDue(this.#clock.now());
    } finally {
      this.scheduleFrame();
    }
  }

  #paintDue(start: number): void {
    const due = this.#painters.filter((painter) => painter.isDue(start));
    const painted = new Set<Painter>();
    try {
      for (const painter of [
        ...due.filter(({ isVisible: seen }) => seen),
        ...due.filter(({ isVisible: seen }) => !seen),
      ]) {
        const isTimeUp = () => this.#clock.now() - start >= painter.budgetMs;
        if (painted.size > 0 && isTimeUp()) continue;
        painted.add(painter);
        painter.isRequested = false;
        painter.lastPaintAt = start;
        if (painter.paint(isTimeUp)) continue;
        painter.isRequested = true;
        painter.lastPaintAt = -Infinity;
      }
    } finally {
      this.#painters = [
        ...this.#painters.filter((one) => !painted.has(one)),
        ...this.#painters.filter((one) => painted.has(one)),
      ];
    }
  }
}
