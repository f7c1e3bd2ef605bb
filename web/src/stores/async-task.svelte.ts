/** A request that the user waits for, such as a save or a long model call: error, elapsed time, and a way to cancel. */

export class AsyncTask {
  isBusy = $state(false);
  elapsedSeconds = $state(0);
  errorMessage = $state("");
  #abort: AbortController | null = null;

  /** Run the task unless it is running. On failure, sets the error message and returns null. */
  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    if (this.isBusy) return null;
    const abort = (this.#abort = new AbortController());
    const began = performance.now();
    this.isBusy = true;
    this.elapsedSeconds = 0;
    this.errorMessage = "";
    const timer = setInterval(() => (this.elapsedSeconds = Math.floor((performance.now() - began) / 1000)), 1000);
    try {
      return await work(abort.signal);
    } catch (error) {
      this.errorMessage = abort.signal.aborted ? "Stopped. Nothing was changed." : (error as Error).message;
      return null;
    } finally {
      clearInterval(timer);
      this.isBusy = false;
    }
  }

  stop(): void {
    this.#abort?.abort();
  }
}
