/** What may be attached, said before anything is sent; what a file truly is, the server finds out. */

export const MOST = 10;
export const LARGEST = 20 * 1024 * 1024;
/** What the button offers; text has too many types and endings to name them all. */
export const ACCEPTED =
  "image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.md,.csv,.json,.toml,.yaml";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const NEVER = /^(audio|video|font)\/|^application\/(zip|gzip|x-tar|x-7z|vnd\.|msword|octet-stream$)|^image\//;

export interface Offered {
  readonly name: string;
  readonly type: string;
  readonly size: number;
}

/** Say why a file cannot be attached; null where it can be tried. */
export function objection({ name, type, size }: Offered): string | null {
  if (size === 0) return `${name} is empty.`;
  if (size > LARGEST) return `${name} has ${bytes(size)}; ${bytes(LARGEST)} are the most.`;
  if (IMAGES.has(type)) return null;
  if (NEVER.test(type))
    return `${name} is of a kind that models do not read: attach text, PNG, JPEG, GIF, WebP or PDF.`;
  return null;
}

/** Take as many as there is room for, and say what is left out and why. */
export function admitted<F extends Offered>(
  files: readonly F[],
  already: number,
): { files: readonly F[]; objections: readonly string[] } {
  const objections = files.map(objection).filter((one) => one !== null);
  const good = files.filter((file) => objection(file) === null);
  const room = Math.max(0, MOST - already);
  if (good.length > room) objections.push(`A message takes ${MOST} files; the others were left out.`);
  return { files: good.slice(0, room), objections };
}

export const isImage = (type: string): boolean => IMAGES.has(type);

export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 * 1024) return `${Math.round(size / 1024)} kB`;
  return `${(size / 1024 / 1024).toFixed(size < 10 * 1024 * 1024 ? 1 : 0)} MB`;
}
