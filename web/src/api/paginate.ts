/** Reads paginated lists to their end. */

const MAX_PAGES = 20; // pages of 100
/** Users with more items see a note that the oldest are not listed. */
export const MAX_LISTED = MAX_PAGES * 100;
export const TOO_MANY_NOTE = `Only the newest ${MAX_LISTED.toLocaleString("en")} are listed`;

export async function readAllPages<T extends { next: string | null }, One>(
  readPage: (cursor: string | null) => Promise<T>,
  getItems: (page: T) => readonly One[],
): Promise<readonly One[]> {
  const all: One[] = [];
  let cursor: string | null = null;
  for (let count = 0; count < MAX_PAGES; count++) {
    const page: T = await readPage(cursor);
    all.push(...getItems(page));
    cursor = page.next;
    if (cursor === null) break;
  }
  return all;
}
