/** What may be attached, said before anything is sent; what a file truly is, the server finds out. */

export const MAX_ATTACHMENTS = 10;
export const MAX_FILE_BYTES = 20 * 1024 * 1024;
/** What the button offers; text has too many types and endings to name them all. */
export const ACCEPTED_TYPES =
  "image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.md,.csv,.json,.toml,.yaml";

const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const REJECTED_TYPES =
  /^(audio|video|font)\/|^application\/(zip|gzip|x-tar|x-7z|vnd\.|msword|octet-stream$)|^image\//;

export interface FileInfo {
  readonly name: string;
  readonly type: string;
  readonly size: number;
}

/** Say why a file cannot be attached; null where it can be tried. */
export function rejectionReason({ name, type, size }: FileInfo): string | null {
  if (size === 0) return `${name} is empty.`;
  if (size > MAX_FILE_BYTES)
    return `${name} has ${formatBytes(size)}; ${formatBytes(MAX_FILE_BYTES)} are the most.`;
  if (IMAGE_TYPES.has(type)) return null;
  if (REJECTED_TYPES.test(type))
    return `${name} is of a kind that models do not read: attach text, PNG, JPEG, GIF, WebP or PDF.`;
  return null;
}

/** Take as many as there is room for, and say what is left out and why. */
export function checkAttachments<F extends FileInfo>(
  files: readonly F[],
  attachedCount: number,
): { files: readonly F[]; objections: readonly string[] } {
  const objections = files.map(rejectionReason).filter((one) => one !== null);
  const good = files.filter((file) => rejectionReason(file) === null);
  const room = Math.max(0, MAX_ATTACHMENTS - attachedCount);
  if (good.length > room)
    objections.push(`A message takes ${MAX_ATTACHMENTS} files; the others were left out.`);
  return { files: good.slice(0, room), objections };
}

export const isImageType = (type: string): boolean => IMAGE_TYPES.has(type);

export function formatBytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 * 1024) return `${Math.round(size / 1024)} kB`;
  return `${(size / 1024 / 1024).toFixed(size < 10 * 1024 * 1024 ? 1 : 0)} MB`;
}
