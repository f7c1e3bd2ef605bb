/** What the menu of an answer offers wherever the answer stands. */

import { isAnswered, type Turn } from "../../state/turn.ts";
import type { Item } from "../../ui/Menu.svelte";
import type { CardActs } from "./card-actions.svelte.ts";

/** What it is called to let the turn be taken anew. */
export const anew = (turn: Turn): string => (isAnswered(turn) ? "Answer again" : "Try again");

export function offers(turn: Turn, acts: CardActs, onedit?: () => void): readonly Item[] {
  const items: Item[] = [
    { words: `${anew(turn)} with another model …`, icon: "swap", act: () => (acts.sheet = "swap") },
  ];
  if (isAnswered(turn)) {
    if (onedit) items.push({ words: "Edit", icon: "edit", act: onedit });
    items.push({ words: "Assertions …", icon: "check", act: () => (acts.sheet = "assertions") });
  }
  return [...items, { words: "What did it see?", icon: "eye", act: () => (acts.sheet = "prompt") }];
}
