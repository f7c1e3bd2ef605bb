/** Resolves participant names like the server, so that mode options can refer to them before the start. */

import type { Persona } from "../../api/types.ts";

const GREEK_LETTERS =
  "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho Sigma Tau Upsilon Phi Chi Psi Omega".split(
    " ",
  );

interface Nameable {
  readonly name: string | null;
  readonly persona: string | null;
}

/** A given name wins, then the persona's name; the others are Alpha, Beta and so on. */
export function resolveNames(participants: readonly Nameable[], personas: readonly Persona[]): readonly string[] {
  const taken = new Set<string>();
  return participants.map(({ name, persona }) => {
    const played = personas.find((one) => one.id === persona)?.name;
    const found = name || firstFreeName(played ? namesWithNumbers(played) : letterNames(), taken);
    taken.add(participantId(found));
    return found;
  });
}

export function participantId(name: string): string {
  const id = name.toLowerCase().replace(/[^\p{L}\p{N}_]+/gu, "-");
  return id.replace(/^-+|-+$/g, "") || "participant";
}

function firstFreeName(names: Iterable<string>, usedIds: ReadonlySet<string>): string {
  for (const name of names) if (!usedIds.has(participantId(name))) return name;
  return "";
}

function* namesWithNumbers(name: string): Generator<string> {
  yield name;
  for (let number = 2; ; number++) yield `${name} ${number}`;
}

function* letterNames(): Generator<string> {
  yield* GREEK_LETTERS;
  for (let lap = 2; ; lap++) yield* GREEK_LETTERS.map((name) => `${name} ${lap}`);
}
