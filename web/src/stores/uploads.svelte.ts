/** Files attached to a message draft. */

import { callApi } from "../api/client.ts";
import type { StoredFile } from "../api/types.ts";
import { checkAttachments, isImageType } from "../state/attachment-checks.ts";
import { uploadFile } from "../api/upload.ts";

export interface Attachment {
  readonly key: string;
  readonly name: string;
  readonly size: number;
  /** URL of the preview; null unless the file is an image. */
  readonly previewUrl: string | null;
  /** Upload progress, from 0 to 1. */
  readonly progress: number;
  readonly storedFile: StoredFile | null;
  readonly errorMessage: string;
}

let attachmentKeyCount = 0;

export class Uploads {
  attachments = $state.raw<readonly Attachment[]>([]);
  /** Why some files were rejected. */
  rejections = $state.raw<readonly string[]>([]);
  #cancelByKey = new Map<string, () => void>();

  // No `$derived`: it would end with the view that created this store, and a draft outlives the view.
  get storedFiles(): readonly StoredFile[] {
    return this.attachments.flatMap((one) => one.storedFile ?? []);
  }

  get isUploading(): boolean {
    return this.attachments.some((one) => !one.storedFile && !one.errorMessage);
  }

  /** Some uploads failed and were not removed yet. */
  get hasErrors(): boolean {
    return this.attachments.some((one) => one.errorMessage !== "");
  }

  add(files: readonly File[]): void {
    const taken = checkAttachments(files, this.attachments.length);
    this.rejections = taken.objections;
    for (const file of taken.files) void this.#upload(file);
  }

  /** Replace all attachments with stored files, such as those of a draft. */
  replaceAll(stored: readonly StoredFile[]): void {
    for (const one of this.attachments) {
      this.#cancelByKey.get(one.key)?.();
      revokePreview(one);
    }
    this.attachments = stored.map((one) => ({ ...newAttachment(one.id, one), storedFile: one, progress: 1 }));
    this.rejections = [];
  }

  remove(key: string): void {
    const gone = this.attachments.find((one) => one.key === key);
    if (gone) revokePreview(gone);
    this.attachments = this.attachments.filter((one) => one.key !== key);
    this.#cancelByKey.get(key)?.();
    // A file that an earlier message also uses cannot be deleted.
    if (gone?.storedFile)
      void callApi("DELETE /api/files/{id}", { path: { id: gone.storedFile.id } }).catch(() => null);
  }

  /** Clear the list after the files were sent. */
  removeSent(ids: readonly string[]): void {
    const [gone, rest] = [true, false].map((is) =>
      this.attachments.filter((one) => ids.includes(one.storedFile?.id ?? "") === is),
    );
    this.attachments = rest ?? [];
    this.rejections = [];
    for (const one of gone ?? []) revokePreview(one);
  }

  async #upload(file: File): Promise<void> {
    const key = `new-${++attachmentKeyCount}`;
    const picture = isImageType(file.type) ? URL.createObjectURL(file) : null;
    this.attachments = [...this.attachments, { ...newAttachment(key, file), previewUrl: picture }];
    const sending = uploadFile(file, (progress) => this.#updateAttachment(key, { progress }));
    this.#cancelByKey.set(key, () => sending.cancel());
    try {
      this.#updateAttachment(key, { storedFile: await sending.result, progress: 1 });
    } catch (error) {
      this.#updateAttachment(key, { errorMessage: (error as Error).message });
    } finally {
      this.#cancelByKey.delete(key);
    }
  }

  #updateAttachment(key: string, change: Partial<Attachment>): void {
    this.attachments = this.attachments.map((one) => (one.key === key ? { ...one, ...change } : one));
  }
}

/** The object URL of a preview stays valid until it is revoked. */
function revokePreview({ previewUrl: picture }: Attachment): void {
  if (picture?.startsWith("blob:")) URL.revokeObjectURL(picture);
}

function newAttachment(key: string, { name, size, ...known }: { name: string; size: number }): Attachment {
  const stored = known as Partial<StoredFile>;
  const picture = stored.id && isImageType(stored.media_type ?? "") ? `/api/files/${stored.id}/content` : null;
  return { key, name, size, previewUrl: picture, progress: 0, storedFile: null, errorMessage: "" };
}
