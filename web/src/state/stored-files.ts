/** What is known of stored files; it never changes, so it is asked for once. */

import { call } from "../api/client.ts";
import type { StoredFile } from "../api/types.ts";

const known = new Map<string, Promise<StoredFile>>();

export function storedFile(id: string): Promise<StoredFile> {
  const found = known.get(id) ?? call("GET /api/files/{id}", { path: { id } });
  known.set(id, found);
  found.catch(() => known.delete(id));
  return found;
}
