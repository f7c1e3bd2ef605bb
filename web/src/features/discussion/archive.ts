/** Putting a discussion away and taking it out again, which can be undone. */

import { callApi } from "../../api/client.ts";
import { session } from "../../stores/session.svelte.ts";
import type { Item } from "../../ui/Menu.svelte";
import { toasts } from "../../stores/toasts.svelte.ts";
import type { Discussion } from "../../api/types.ts";

/** The entry of a menu that archives a discussion, or takes it out of the archive. */
export function archiveMenuItem(discussion: Discussion): Item {
  return {
    words: discussion.status === "archived" ? "Bring back" : "Archive",
    icon: "archive",
    act: () =>
      void (discussion.status === "archived"
        ? unarchive(discussion)
        : setStatusWithUndo(discussion, "archived", "Archived.")),
  };
}

/** Take a discussion out of the archive, and go back with it to those that are not there. */
export async function unarchive(discussion: Discussion): Promise<void> {
  await setStatusWithUndo(discussion, "active", "Brought back.");
  if (session.listFilter.status !== "archived") return;
  session.listFilter = { ...session.listFilter, status: "active" };
  await session.loadList().catch((error) => toasts.showError(error));
}

async function setStatusWithUndo(
  { id, status }: Discussion,
  after: Discussion["status"],
  words: string,
): Promise<void> {
  if (await updateStatus(id, after)) toasts.show(words, { undo: () => updateStatus(id, status) });
}

async function updateStatus(id: string, status: Discussion["status"]): Promise<boolean> {
  try {
    await callApi("PATCH /api/discussions/{id}", { path: { id }, body: { status } });
    return true;
  } catch (error) {
    toasts.showError(error);
    return false;
  }
}
