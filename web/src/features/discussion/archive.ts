/** Archiving and restoring a discussion, with undo. */

import { callApi } from "../../api/client.ts";
import { session } from "../../stores/session.svelte.ts";
import type { Item } from "../../ui/Menu.svelte";
import { toasts } from "../../stores/toasts.svelte.ts";
import type { Discussion } from "../../api/types.ts";

/** Menu item that archives or restores a discussion. */
export function archiveMenuItem(discussion: Discussion): Item {
  return {
    words: discussion.status === "archived" ? "Restore" : "Archive",
    icon: "archive",
    act: () =>
      void (discussion.status === "archived"
        ? unarchive(discussion)
        : setStatusWithUndo(discussion, "archived", "Archived.")),
  };
}

/** Restore a discussion, and switch back to the active list. */
export async function unarchive(discussion: Discussion): Promise<void> {
  await setStatusWithUndo(discussion, "active", "Restored.");
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
