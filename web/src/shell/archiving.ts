/** Putting a discussion away and taking it out again, which can be undone. */

import { call } from "../api.ts";
import { toasts } from "../ui/toasts.svelte.ts";
import type { Discussion } from "../wire.ts";

/** Archive a discussion, or take it out of the archive. */
export async function archive({ id, status }: Discussion): Promise<void> {
  const after = status === "archived" ? "active" : "archived";
  if (!(await moved(id, after))) return;
  toasts.say(after === "archived" ? "Archived." : "Taken out of the archive.", {
    undo: () => moved(id, status),
  });
}

async function moved(id: string, status: Discussion["status"]): Promise<boolean> {
  try {
    await call("PATCH /api/discussions/{id}", { path: { id }, body: { status } });
    return true;
  } catch (error) {
    toasts.sorry(error);
    return false;
  }
}
