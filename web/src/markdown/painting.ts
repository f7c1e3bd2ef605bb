/**
 * When which card is painted: a card at most once every 66 ms, all cards together within 6 ms of a frame, each in its
 * turn. What is off screen waits for the others, and while it still grows it waits until it is seen.
 */

export interface Clock {
  now(): number;
  frame(then: () => void): void;
}

export const BETWEEN_MS = 66;
export const BUDGET_MS = 6;

export class Painter {
  wanted = false;
  final = false;
  seen = true;
  last = -Infinity;
  readonly paint: () => void;
  readonly #painting: Painting;

  constructor(painting: Painting, paint: () => void) {
    this.#painting = painting;
    this.paint = paint;
  }

  /** Ask to be painted; the final state is painted even where nobody looks. */
  ask(final: boolean): void {
    this.wanted = true;
    this.final = final;
    this.#painting.wake();
  }

  see(seen: boolean): void {
    this.seen = seen;
    this.#painting.wake();
  }

  leave(): void {
    this.#painting.remove(this);
  }

  get waits(): boolean {
    return this.wanted && (this.seen || this.final);
  }
}

export class Painting {
  readonly #clock: Clock;
  /** In the order of their turns: who was painted goes to the end. */
  #painters: Painter[] = [];
  #awake = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  join(paint: () => void): Painter {
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
    const start = this.#clock.now();
    const due = this.#painters.filter((painter) => painter.waits && start - painter.last >= BETWEEN_MS);
    const painted = new Set<Painter>();
    this.#awake = false;
    try {
      for (const painter of [...due.filter(({ seen }) => seen), ...due.filter(({ seen }) => !seen)]) {
        if (painted.size > 0 && this.#clock.now() - start >= BUDGET_MS) break;
        painted.add(painter);
        painter.wanted = false;
        painter.last = start;
        painter.paint();
      }
    } finally {
      this.#painters = [
        ...this.#painters.filter((one) => !painted.has(one)),
        ...this.#painters.filter((one) => painted.has(one)),
      ];
      this.wake();
    }
  }
}
