/** Participants as displayed: name and colour, the same everywhere. */

import { COLOURS, type Discussion, type Participant } from "../api/types.ts";

export interface ParticipantView {
  readonly id: string;
  readonly name: string;
  readonly colour: string;
  readonly model: string | null;
  readonly participant: Participant | null;
}

export function participantView(
  discussion: Discussion | null,
  id: string,
  name: string | null = null,
): ParticipantView {
  const participants = discussion?.participants ?? [];
  const place = participants.findIndex((one) => one.id === id);
  const participant = participants[place] ?? null;
  return {
    id,
    name: participant?.name ?? name ?? id,
    colour: participant?.colour ?? participantColour(place < 0 ? hashText(id) : place),
    model: participant?.model ?? null,
    participant,
  };
}

/** Sort turns by the participants' order. */
export function sortByParticipant<T extends { participant: string }>(
  items: readonly T[],
  discussion: Discussion,
): readonly T[] {
  const places = new Map(discussion.participants.map((one, place) => [one.id, place]));
  const placeOf = (one: T) => places.get(one.participant) ?? places.size;
  return [...items].sort((a, b) => placeOf(a) - placeOf(b));
}

export function participantColour(index: number): string {
  return COLOURS[index % COLOURS.length] ?? "#2f7d80";
}

function hashText(text: string): number {
  return [...text].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7);
}
