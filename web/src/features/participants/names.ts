/** What those at a table will be called, found as the server finds it, so that rules can point to them before. */

import type { Persona } from "../../api/types.ts";

const LETTERS =
  "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho Sigma Tau Upsilon Phi Chi Psi Omega".split(
    " ",
  );

interface Called {
  readonly name: string | null;
  readonly persona: string | null;
}

/** A name that was given stays; a persona names who plays it; the others are Alpha, Beta and so on. */
export function namesOf(seats: readonly Called[], personas: readonly Persona[]): readonly string[] {
  const taken = new Set<string>();
  return seats.map(({ name, persona }) => {
    const played = personas.find((one) => one.id === persona)?.name;
    const found = name || free(played ? numbered(played) : letters(), taken);
    taken.add(idOf(found));
    return found;
  });
}

export function idOf(name: string): string {
  const id = name.toLowerCase().replace(/[^\p{L}\p{N}_]+/gu, "-");
  return id.replace(/^-+|-+$/g, "") || "participant";
}

function free(names: Iterable<string>, taken: ReadonlySet<string>): string {
  for (const name of names) if (!taken.has(idOf(name))) return name;
  return "";
}

function* numbered(name: string): Generator<string> {
  yield name;
  for (let number = 2; ; number++) yield `${name} ${number}`;
}

function* letters(): Generator<string> {
  yield* LETTERS;
  for (let lap = 2; ; lap++) yield* LETTERS.map((name) => `${name} ${lap}`);
}
