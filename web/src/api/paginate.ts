/** Lists that come a page at a time, read to their end. */

const MOST = 20; // pages of 100
/** Who has more than so many is told that the oldest are not listed. */
export const MOST_LISTED = MOST * 100;
export const TOO_MANY = `Only the newest ${MOST_LISTED.toLocaleString("en")} are listed`;

export async function everyPage<T extends { next: string | null }, One>(
  read: (cursor: string | null) => Promise<T>,
  of: (page: T) => readonly One[],
): Promise<readonly One[]> {
  const all: One[] = [];
  let cursor: string | null = null;
  for (let count = 0; count < MOST; count++) {
    const page: T = await read(cursor);
    all.push(...of(page));
    cursor = page.next;
    if (cursor === null) break;
  }
  return all;
}
