/** Number of turns that this client asked a run to continue for. The server does not report it. */

class ContinueTurns {
  #turns = $state.raw<ReadonlyMap<string, number>>(new Map());

  getTurns(run: string): number | null {
    return this.#turns.get(run) ?? null;
  }

  setTurns(run: string, turns: number): void {
    this.#turns = new Map(this.#turns).set(run, turns);
  }
}

export const continueTurns = new ContinueTurns();
