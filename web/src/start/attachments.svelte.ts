/** Files on their way to the server, one request each, until they are there or somebody stops them. */

import { call } from "../api.ts";
import type { StoredFile } from "../wire.ts";

export const MOST = 10;

interface Sending {
  readonly name: string;
  readonly leaving: AbortController;
}

export class Attachments {
  sending = $state.raw<readonly Sending[]>([]);
  wrong = $state.raw("");
  #arrived: (file: StoredFile) => void;

  constructor(arrived: (file: StoredFile) => void) {
    this.#arrived = arrived;
  }

  /** Send some; `there` are attached already. */
  async add(files: Iterable<File>, there: number): Promise<void> {
    this.wrong = "";
    const room = MOST - there - this.sending.length;
    const some = [...files];
    if (some.length > room) this.wrong = `At most ${MOST} files go with a message; the others were left out.`;
    await Promise.all(some.slice(0, Math.max(0, room)).map((file) => this.#send(file)));
  }

  stop(one: Sending): void {
    one.leaving.abort();
  }

  async #send(file: File): Promise<void> {
    const one = { name: file.name, leaving: new AbortController() };
    this.sending = [...this.sending, one];
    const body = new FormData();
    body.append("file", file);
    try {
      this.#arrived(await call("POST /api/files", { body, signal: one.leaving.signal }));
    } catch (error) {
      const words = (error as Error).message.replace(/^file: it/, "It");
      if (!one.leaving.signal.aborted) this.wrong = `${file.name}: ${words}`;
    } finally {
      this.sending = this.sending.filter((other) => other !== one);
    }
  }
}
