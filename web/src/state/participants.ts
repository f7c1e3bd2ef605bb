/** Who sits at the table, as the page shows them: a name, a colour, the same wherever they appear. */

import { COLOURS, type Discussion, type Participant } from "../api/types.ts";

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly colour: string;
  readonly model: string | null;
  readonly participant: Participant | null;
}

export function person(discussion: Discussion | null, id: string, name: string | null = null): Person {
  const seats = discussion?.participants ?? [];
  const place = seats.findIndex((one) => one.id === id);
  const participant = seats[place] ?? null;
  return {
    id,
    name: participant?.name ?? name ?? id,
    colour: participant?.colour ?? colourOf(place < 0 ? hash(id) : place),
    model: participant?.model ?? null,
    participant,
  };
}

/** Put what several said into the order of their seats, whoever spoke first. */
export function seated<T extends { participant: string }>(
  some: readonly T[],
  discussion: Discussion,
): readonly T[] {
  const places = new Map(discussion.participants.map((one, place) => [one.id, place]));
  const placeOf = (one: T) => places.get(one.participant) ?? places.size;
  return [...some].sort((a, b) => placeOf(a) - placeOf(b));
}

export function colourOf(place: number): string {
  return COLOURS[place % COLOURS.length] ?? "#2f7d80";
}

function hash(text: string): number {
  return [...text].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7);
}
