/** Menu items of an answer. */

import { isAnswered, type Turn } from "../../state/turn.ts";
import type { Item } from "../../ui/Menu.svelte";
import type { CardActions } from "./card-actions.svelte.ts";

export const regenerateLabel = (turn: Turn): string => (isAnswered(turn) ? "Regenerate" : "Retry");

export function answerMenuItems(turn: Turn, actions: CardActions, onedit?: () => void): readonly Item[] {
  const items: Item[] = [
    {
      words: `${regenerateLabel(turn)} with another model …`,
      icon: "swap",
      act: () => (actions.dialog = "swap"),
    },
  ];
  if (isAnswered(turn)) {
    if (onedit) items.push({ words: "Edit", icon: "edit", act: onedit });
    items.push({ words: "Check this answer …", icon: "check", act: () => (actions.dialog = "assertions") });
  }
  return [...items, { words: "View prompt", icon: "eye", act: () => (actions.dialog = "prompt") }];
}
