/** Thread of one participant: stored messages and live turns. */

import type { Run } from "../../../state/run.ts";
import { isLiveTurn, turnFromMessage, type Turn } from "../../../state/turn.ts";
import type { Message } from "../../../api/types.ts";

export type ThreadEntry =
  | { readonly kind: "question" | "prompt"; readonly key: string; readonly message: Message }
  | { readonly kind: "answer"; readonly key: string; readonly turn: Turn };

/** A live turn replaces its stored message. Turns that are not stored yet come last. */
export function buildThread(messages: readonly Message[], run: Run, participant: string): readonly ThreadEntry[] {
  const own = run.turns.filter((turn) => turn.participant === participant && turn.stage !== "synthesis");
  const entries = messages.flatMap((message): ThreadEntry[] => {
    const stored = turnFromMessage(message);
    if (!stored) return [{ kind: message.hidden ? "prompt" : "question", key: message.id, message }];
    const turn = own.find((one) => one.key === stored.key);
    return [{ kind: "answer", key: stored.key, turn: turn && isLiveTurn(turn) ? turn : stored }];
  });
  const known = new Set(entries.map((entry) => entry.key));
  const rest = own.filter((turn) => !known.has(turn.key));
  return [...entries, ...rest.map((turn): ThreadEntry => ({ kind: "answer", key: turn.key, turn }))];
}
