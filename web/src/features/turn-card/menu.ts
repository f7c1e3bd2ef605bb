/** What the menu of an answer offers wherever the answer stands. */

import { isAnswered, type Turn } from "../../state/turn.ts";
import type { Item } from "../../ui/Menu.svelte";
import type { CardActions } from "./card-actions.svelte.ts";

/** What it is called to let the turn be taken anew. */
export const regenerateLabel = (turn: Turn): string => (isAnswered(turn) ? "Answer again" : "Try again");

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
    items.push({ words: "Assertions …", icon: "check", act: () => (actions.dialog = "assertions") });
  }
  return [...items, { words: "What did it see?", icon: "eye", act: () => (actions.dialog = "prompt") }];
}
