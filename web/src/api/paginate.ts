/** Reads paginated lists to their end. */

import { callApi, type Endpoint, type RequestOptions } from "./client.ts";
import type { Calls } from "./types.ts";

/** Calls whose response is one page of a list. */
type PagedEndpoint = {
  [C in Endpoint]: Calls[C]["gives"] extends { next: string | null } ? C : never;
}[Endpoint];

const PAGE_SIZE = 100;
const MAX_PAGES = 20;
/** Users with more items see a note that the oldest are not listed. */
export const MAX_LISTED = MAX_PAGES * PAGE_SIZE;
export const TOO_MANY_NOTE = `Only the newest ${MAX_LISTED.toLocaleString("en")} are listed`;

export async function readAllPages<C extends PagedEndpoint, One>(
  name: C,
  getItems: (page: Calls[C]["gives"]) => readonly One[],
  options: RequestOptions<C> = {},
): Promise<readonly One[]> {
  const all: One[] = [];
  let cursor: string | null = null;
  for (let count = 0; count < MAX_PAGES; count++) {
    const query: RequestOptions<C>["query"] = { ...options.query, cursor, limit: PAGE_SIZE };
    const page: Calls[C]["gives"] = await callApi(name, { ...options, query });
    all.push(...getItems(page));
    cursor = page.next;
    if (cursor === null) break;
  }
  return all;
}
