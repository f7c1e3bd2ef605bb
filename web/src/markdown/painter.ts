/**
 * When which text is painted: all together within 6 ms of a frame, each in its turn, and at most once every 66 ms. One
 * of which the end is not seen grows once a second, within 2 ms; one that is off screen waits for the others, and while
 * it still grows it waits until it is seen. What does not fit goes on in the next frame. Whoever types comes first.
 */

export interface Clock {
  now(): number;
  frame(then: () => void): void;
  /** Tell whether a key was pressed since this was asked last. */
  isTyped(): boolean;
}

/** Paint until time is up, and at least a step; tell whether all is painted. */
type Paint = (isTimeUp: () => boolean) => boolean;

export const BETWEEN_MS = 66;
export const BUDGET_MS = 6;
export const BELOW_BETWEEN_MS = 1_000;
export const BELOW_BUDGET_MS = 2;

export class Painter {
  wanted = false;
  final = false;
  seen = true;
  isEndSeen = true;
  last = -Infinity;
  readonly paint: Paint;
  readonly #painting: Painting;

  constructor(painting: Painting, paint: Paint) {
    this.#painting = painting;
    this.paint = paint;
  }

  /** Ask to be painted; the final state is painted even where nobody looks. */
  ask(final: boolean): void {
    this.wanted = true;
    this.final = final;
    this.#painting.wake();
  }

  /** Tell whether anything of it is seen. */
  see(seen: boolean): void {
    this.seen = seen;
    this.#painting.wake();
  }

  /** Tell whether its end is seen, where it grows. */
  seeEnd(seen: boolean): void {
    this.isEndSeen = seen;
  }

  leave(): void {
    this.#painting.remove(this);
  }

  get waits(): boolean {
    return this.wanted && (this.seen || this.final);
  }

  isDue(now: number): boolean {
    return this.waits && now - this.last >= (this.#matters ? BETWEEN_MS : BELOW_BETWEEN_MS);
  }

  get budget(): number {
    return this.#matters ? BUDGET_MS : BELOW_BUDGET_MS;
  }

  get #matters(): boolean {
    return this.isEndSeen || this.final;
  }
}

export class Painting {
  readonly #clock: Clock;
  /** In the order of their turns: who was painted goes to the end. */
  #painters: Painter[] = [];
  #awake = false;
  #hasWaited = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  join(paint: Paint): Painter {
    const painter = new Painter(this, paint);
    this.#painters.push(painter);
    return painter;
  }

  remove(painter: Painter): void {
    this.#painters = this.#painters.filter((one) => one !== painter);
  }

  wake(): void {
    if (this.#awake || !this.#painters.some((painter) => painter.waits)) return;
    this.#awake = true;
    this.#clock.frame(() => this.#frame());
  }

  #frame(): void {
    this.#awake = false;
    // A key that is held down must not keep the answers from growing.
    this.#hasWaited = this.#clock.isTyped() && !this.#hasWaited;
    try {
      if (!this.#hasWaited) this.#paint(this.#clock.now());
    } finally {
      this.wake();
    }
  }

  #paint(start: number): void {
    const due = this.#painters.filter((painter) => painter.isDue(start));
    const painted = new Set<Painter>();
    try {
      for (const painter of [...due.filter(({ seen }) => seen), ...due.filter(({ seen }) => !seen)]) {
        const isTimeUp = () => this.#clock.now() - start >= painter.budget;
        if (painted.size > 0 && isTimeUp()) continue;
        painted.add(painter);
        painter.wanted = false;
        painter.last = start;
        if (painter.paint(isTimeUp)) continue;
        painter.wanted = true;
        painter.last = -Infinity;
      }
    } finally {
      this.#painters = [
        ...this.#painters.filter((one) => !painted.has(one)),
        ...this.#painters.filter((one) => painted.has(one)),
      ];
    }
  }
}
