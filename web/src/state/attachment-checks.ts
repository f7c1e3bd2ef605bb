/** Client-side checks of attachments. The server checks the real file type. */

export const MAX_ATTACHMENTS = 10;
export const MAX_FILE_BYTES = 20 * 1024 * 1024;
/** Types offered by the file dialog. Text has too many types and endings to list. */
export const ACCEPTED_TYPES =
  "image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.md,.csv,.json,.toml,.yaml";

const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const REJECTED_TYPES = /^(audio|video|font)\/|^application\/(zip|gzip|x-tar|x-7z|vnd\.|msword|octet-stream$)|^image\//;

export interface FileInfo {
  readonly name: string;
  readonly type: string;
  readonly size: number;
}

/** Return why a file cannot be attached, or null. */
export function rejectionReason({ name, type, size }: FileInfo): string | null {
  if (size === 0) return `${name} is empty.`;
  if (size > MAX_FILE_BYTES) return `${name} has ${formatBytes(size)}. The maximum is ${formatBytes(MAX_FILE_BYTES)}.`;
  if (IMAGE_TYPES.has(type)) return null;
  if (REJECTED_TYPES.test(type)) return `${name}: Unsupported file type. Attach text, PNG, JPEG, GIF, WebP or PDF.`;
  return null;
}

/** Take as many files as fit, and say which were left out and why. */
export function checkAttachments<F extends FileInfo>(
  files: readonly F[],
  attachedCount: number,
): { files: readonly F[]; objections: readonly string[] } {
  const objections = files.map(rejectionReason).filter((one) => one !== null);
  const good = files.filter((file) => rejectionReason(file) === null);
  const room = Math.max(0, MAX_ATTACHMENTS - attachedCount);
  if (good.length > room) objections.push(`A message can have ${MAX_ATTACHMENTS} files. The others were left out.`);
  return { files: good.slice(0, room), objections };
}

export const isImageType = (type: string): boolean => IMAGE_TYPES.has(type);

export function formatBytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 * 1024) return `${Math.round(size / 1024)} kB`;
  return `${(size / 1024 / 1024).toFixed(size < 10 * 1024 * 1024 ? 1 : 0)} MB`;
}
