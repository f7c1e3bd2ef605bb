/** Tables to begin with, each with questions that suit it: laid with the models that are there. */

import { readyModels, type Offer } from "../../state/model-offers.ts";
import { ADVISORS, DEBATE, DIRECTED, EMPTY, newSeat, type Seat, type Table } from "../participants/setup.ts";
import type { Mode } from "../../state/modes.ts";

type Part = Partial<Pick<Seat, "persona" | "name" | "role" | "model">>;

export interface Sample {
  readonly title: string;
  readonly words: string;
  readonly mode: Mode;
  readonly parts: readonly Part[];
  readonly questions: readonly string[];
  /** These parts are played by scripts: they go with this question only, and no model is asked. */
  readonly scripted?: boolean;
  readonly clerk?: string;
}

const persona = (id: string): Part => ({ persona: `shipped_${id}` });

export const SAMPLES: readonly Sample[] = [
  {
    title: "Compare answers",
    words: "Three voices, side by side",
    mode: "parallel",
    parts: [{}, {}, {}],
    questions: ["What should a remote team agree on first?", "Explain to a cook why the sky is blue."],
  },
  {
    title: "Argue it out",
    words: "An engineer, a sceptic and an advocate",
    mode: "debate",
    parts: [persona("engineer"), persona("sceptic"), persona("advocate")],
    questions: [
      "Rewrite a ten-year-old program, or mend it?",
      "Is a four-day week good for a small company?",
    ],
  },
  {
    title: "Find common ground",
    words: "Three minds, two rounds",
    mode: "consensus",
    parts: [persona("product"), persona("engineer"), persona("advocate")],
    questions: [
      "Which habits make meetings worth their time?",
      "How much testing is enough for a first release?",
    ],
  },
  {
    title: "Ask my advisors",
    words: "They ask first, then advise",
    mode: "advisors",
    parts: [persona("systems"), persona("product"), persona("sceptic")],
    questions: [
      "Shall I take a better-paid job in another city?",
      "My side project has its first users. What now?",
    ],
  },
  {
    title: "Teach me",
    words: "A teacher and two who learn",
    mode: "directed",
    parts: [
      { ...persona("teacher"), role: "teacher" },
      { name: "Ida", role: "student" },
      { name: "Ben", role: "student" },
    ],
    questions: ["Why do the odd numbers add up to squares?", "How does a heat pump work?"],
  },
];

/** What can be seen without any model: every word of it was written before. */
export const PLAYED: readonly Sample[] = [
  {
    title: "Sample debate",
    words: "Three scripts argue, one changes sides",
    mode: "debate",
    parts: ["advocate", "sceptic", "undecided"].map((name) => ({ model: `scripted/${name}` })),
    questions: ["Shall we split the service?"],
    scripted: true,
  },
  {
    title: "Sample lesson",
    words: "Four scripts at a whiteboard",
    mode: "directed",
    parts: [
      { model: "scripted/teacher", role: "teacher" },
      { model: "scripted/assistant", role: "assistant" },
      { model: "scripted/student", role: "student" },
      { model: "scripted/classmate", role: "student" },
    ],
    questions: ["Why do the odd numbers add up to squares?"],
    scripted: true,
  },
];

/** Those that can be played here: scripts are there unless somebody took them out of the settings. */
export function playable(offers: readonly Offer[]): readonly Sample[] {
  const there = new Set(offers.filter((one) => one.standing === "ready").flatMap((one) => one.models));
  return PLAYED.filter((sample) => sample.parts.every((part) => part.model && there.has(part.model)));
}

/** Lay a sample's table with the models that are ready, each as seldom as can be; none are made up. */
export function laidWith(sample: Sample, offers: readonly Offer[]): Table | null {
  const models = readyModels(offers);
  if (!sample.scripted && models.length === 0) return null;
  const seats = sample.parts.map((part, place) =>
    newSeat(part.model ?? models[place % models.length] ?? "", part),
  );
  return {
    ...EMPTY,
    mode: sample.mode,
    seats,
    clerk: sample.clerk ?? null,
    debate: DEBATE,
    advisors: ADVISORS,
    directed: sample.scripted ? { ...DIRECTED, trigger: seats[0]?.key ?? null } : DIRECTED,
  };
}

/** The table of a first visit: a few voices side by side, different ones where there are some. */
export function firstTable(offers: readonly Offer[]): Table | null {
  const models = readyModels(offers);
  if (models.length === 0) return null;
  const alone = models.length === 1;
  const parts: readonly Part[] = alone
    ? [persona("scientist"), persona("advocate")]
    : models.slice(0, 3).map(() => ({}));
  const seats = parts.map((part, place) => newSeat(models[place % models.length] ?? "", part));
  return { ...EMPTY, seats };
}

/** Questions to begin with that suit a way to talk. */
export function questionsFor(mode: Mode): readonly string[] {
  return SAMPLES.find((sample) => sample.mode === mode)?.questions ?? SAMPLES[0]?.questions ?? [];
}
