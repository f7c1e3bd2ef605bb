/** The files that go with a message that is being written. */

import { call } from "../api/client.ts";
import type { StoredFile } from "../api/types.ts";
import { admitted, isImage } from "../state/attachment-checks.ts";
import { upload } from "../api/upload.ts";

export interface Attachment {
  readonly key: string;
  readonly name: string;
  readonly size: number;
  /** Where its picture is; null for what is no image. */
  readonly picture: string | null;
  /** How much of it is there, from 0 to 1. */
  readonly progress: number;
  readonly stored: StoredFile | null;
  readonly trouble: string;
}

let count = 0;

export class Uploads {
  all = $state.raw<readonly Attachment[]>([]);
  /** Why some that were offered were not taken. */
  objections = $state.raw<readonly string[]>([]);
  #stops = new Map<string, () => void>();

  // No `$derived`: it would end with the view that made this, and a draft outlives that.
  get stored(): readonly StoredFile[] {
    return this.all.flatMap((one) => one.stored ?? []);
  }

  get isBusy(): boolean {
    return this.all.some((one) => !one.stored && !one.trouble);
  }

  /** Some did not arrive and were not removed yet. */
  get isFailed(): boolean {
    return this.all.some((one) => one.trouble !== "");
  }

  add(files: readonly File[]): void {
    const taken = admitted(files, this.all.length);
    this.objections = taken.objections;
    for (const file of taken.files) void this.#send(file);
  }

  /** Attach what is stored already, such as the files of a draft, in the place of all that is there. */
  put(stored: readonly StoredFile[]): void {
    for (const one of this.all) {
      this.#stops.get(one.key)?.();
      forget(one);
    }
    this.all = stored.map((one) => ({ ...attachment(one.id, one), stored: one, progress: 1 }));
    this.objections = [];
  }

  remove(key: string): void {
    const gone = this.all.find((one) => one.key === key);
    if (gone) forget(gone);
    this.all = this.all.filter((one) => one.key !== key);
    this.#stops.get(key)?.();
    // One that an earlier message has too cannot be deleted, and need not be.
    if (gone?.stored) void call("DELETE /api/files/{id}", { path: { id: gone.stored.id } }).catch(() => null);
  }

  /** Let go of what went with a message. */
  sent(ids: readonly string[]): void {
    const [gone, rest] = [true, false].map((is) =>
      this.all.filter((one) => ids.includes(one.stored?.id ?? "") === is),
    );
    this.all = rest ?? [];
    this.objections = [];
    for (const one of gone ?? []) forget(one);
  }

  async #send(file: File): Promise<void> {
    const key = `new-${++count}`;
    const picture = isImage(file.type) ? URL.createObjectURL(file) : null;
    this.all = [...this.all, { ...attachment(key, file), picture }];
    const sending = upload(file, (progress) => this.#change(key, { progress }));
    this.#stops.set(key, () => sending.stop());
    try {
      this.#change(key, { stored: await sending.stored, progress: 1 });
    } catch (error) {
      this.#change(key, { trouble: (error as Error).message });
    } finally {
      this.#stops.delete(key);
    }
  }

  #change(key: string, change: Partial<Attachment>): void {
    this.all = this.all.map((one) => (one.key === key ? { ...one, ...change } : one));
  }
}

/** A picture of a file of this machine is kept until it is let go. */
function forget({ picture }: Attachment): void {
  if (picture?.startsWith("blob:")) URL.revokeObjectURL(picture);
}

function attachment(key: string, { name, size, ...known }: { name: string; size: number }): Attachment {
  const stored = known as Partial<StoredFile>;
  const picture = stored.id && isImage(stored.media_type ?? "") ? `/api/files/${stored.id}/content` : null;
  return { key, name, size, picture, progress: 0, stored: null, trouble: "" };
}
