/** Metadata of stored files. It never changes, so it is requested once. */

import { callApi } from "../api/client.ts";
import type { StoredFile } from "../api/types.ts";

const fileCache = new Map<string, Promise<StoredFile>>();

export function loadStoredFile(id: string): Promise<StoredFile> {
  const found = fileCache.get(id) ?? callApi("GET /api/files/{id}", { path: { id } });
  fileCache.set(id, found);
  found.catch(() => fileCache.delete(id));
  return found;
}
