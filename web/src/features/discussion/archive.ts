/** Putting a discussion away and taking it out again, which can be undone. */

import { call } from "../../api/client.ts";
import { live } from "../../stores/session.svelte.ts";
import type { Item } from "../../ui/Menu.svelte";
import { toasts } from "../../stores/toasts.svelte.ts";
import type { Discussion } from "../../api/types.ts";

/** The entry of a menu that archives a discussion, or takes it out of the archive. */
export function archiving(discussion: Discussion): Item {
  return {
    words: discussion.status === "archived" ? "Bring back" : "Archive",
    icon: "archive",
    act: () =>
      void (discussion.status === "archived"
        ? bringBack(discussion)
        : put(discussion, "archived", "Archived.")),
  };
}

/** Take a discussion out of the archive, and go back with it to those that are not there. */
export async function bringBack(discussion: Discussion): Promise<void> {
  await put(discussion, "active", "Brought back.");
  if (live.shown.status !== "archived") return;
  live.shown = { ...live.shown, status: "active" };
  await live.list().catch((error) => toasts.sorry(error));
}

async function put({ id, status }: Discussion, after: Discussion["status"], words: string): Promise<void> {
  if (await moved(id, after)) toasts.say(words, { undo: () => moved(id, status) });
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
