/** Putting a discussion away and taking it out again, which can be undone. */

import { call } from "../api.ts";
import type { Item } from "../ui/Menu.svelte";
import { toasts } from "../ui/toasts.svelte.ts";
import type { Discussion } from "../wire.ts";

/** The entry of a menu that archives a discussion, or takes it out of the archive. */
export function archiving(discussion: Discussion): Item {
  return {
    words: discussion.status === "archived" ? "Take out of the archive" : "Archive",
    icon: "archive",
    act: () => void archive(discussion),
  };
}

async function archive({ id, status }: Discussion): Promise<void> {
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
