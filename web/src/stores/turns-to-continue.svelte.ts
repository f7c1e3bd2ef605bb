/** How many turns the table was asked to go on for: only whoever asked knows. */

class Asked {
  #turns = $state.raw<ReadonlyMap<string, number>>(new Map());

  of(run: string): number | null {
    return this.#turns.get(run) ?? null;
  }

  keep(run: string, turns: number): void {
    this.#turns = new Map(this.#turns).set(run, turns);
  }
}

export const asked = new Asked();
