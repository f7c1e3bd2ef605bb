/** Sample setups with matching questions, filled with the available models. */

import { readyModels, type ProviderOffer } from "../../state/model-offers.ts";
import {
  DEFAULT_ADVISORS,
  DEFAULT_DEBATE,
  DEFAULT_LESSON,
  EMPTY_SETUP,
  newParticipant,
  type ParticipantDraft,
  type DiscussionSetup,
} from "../participants/setup.ts";
import type { Mode } from "../../state/run.ts";

type SampleParticipant = Partial<Pick<ParticipantDraft, "persona" | "name" | "role" | "model">>;

export interface Sample {
  readonly title: string;
  readonly words: string;
  readonly mode: Mode;
  readonly participants: readonly SampleParticipant[];
  readonly questions: readonly string[];
  /** Scripted participants: they fit this question only, and no model is called. */
  readonly isScripted?: boolean;
  readonly taskModel?: string;
}

const builtinPersona = (id: string): SampleParticipant => ({ persona: `shipped_${id}` });

export const SAMPLES: readonly Sample[] = [
  {
    title: "Compare answers",
    words: "Three participants, side by side",
    mode: "parallel",
    participants: [{}, {}, {}],
    questions: ["What should a remote team agree on first?", "Explain to a cook why the sky is blue."],
  },
  {
    title: "Debate a question",
    words: "An engineer, a sceptic and an advocate",
    mode: "debate",
    participants: [builtinPersona("engineer"), builtinPersona("sceptic"), builtinPersona("advocate")],
    questions: ["Rewrite a ten-year-old program, or mend it?", "Is a four-day week good for a small company?"],
  },
  {
    title: "Find a consensus",
    words: "Three participants, two rounds",
    mode: "consensus",
    participants: [builtinPersona("product"), builtinPersona("engineer"), builtinPersona("advocate")],
    questions: ["Which habits make meetings worth their time?", "How much testing is enough for a first release?"],
  },
  {
    title: "Ask my advisors",
    words: "They ask first, then advise",
    mode: "advisors",
    participants: [builtinPersona("systems"), builtinPersona("product"), builtinPersona("sceptic")],
    questions: ["Shall I take a better-paid job in another city?", "My side project has its first users. What now?"],
  },
  {
    title: "Teach me",
    words: "A teacher and two students",
    mode: "directed",
    participants: [
      { ...builtinPersona("teacher"), role: "teacher" },
      { name: "Ida", role: "student" },
      { name: "Ben", role: "student" },
    ],
    questions: ["Why do the odd numbers add up to squares?", "How does a heat pump work?"],
  },
];

/** Demos that need no model; every answer is scripted. */
export const SCRIPTED_SAMPLES: readonly Sample[] = [
  {
    title: "Sample debate",
    words: "Three demo participants; one changes position",
    mode: "debate",
    participants: ["advocate", "sceptic", "undecided"].map((name) => ({ model: `scripted/${name}` })),
    questions: ["Shall we split the service?"],
    isScripted: true,
  },
  {
    title: "Sample lesson",
    words: "Four demo participants at a whiteboard",
    mode: "directed",
    participants: [
      { model: "scripted/teacher", role: "teacher" },
      { model: "scripted/assistant", role: "assistant" },
      { model: "scripted/student", role: "student" },
      { model: "scripted/classmate", role: "student" },
    ],
    questions: ["Why do the odd numbers add up to squares?"],
    isScripted: true,
  },
];

/** Demos that can run here. The operator may have removed the scripted provider. */
export function playableSamples(offers: readonly ProviderOffer[]): readonly Sample[] {
  const there = new Set(offers.filter((one) => one.availability === "ready").flatMap((one) => one.models));
  return SCRIPTED_SAMPLES.filter((sample) => sample.participants.every((part) => part.model && there.has(part.model)));
}

/** Fill a sample with ready models, each used as rarely as possible. */
export function buildSampleSetup(sample: Sample, offers: readonly ProviderOffer[]): DiscussionSetup | null {
  const models = readyModels(offers);
  if (!sample.isScripted && models.length === 0) return null;
  const participants = sample.participants.map((part, place) =>
    newParticipant(part.model ?? models[place % models.length] ?? "", part),
  );
  return {
    ...EMPTY_SETUP,
    mode: sample.mode,
    participants,
    taskModel: sample.taskModel ?? null,
    debate: DEFAULT_DEBATE,
    advisors: DEFAULT_ADVISORS,
    directed: sample.isScripted ? { ...DEFAULT_LESSON, first_speaker: participants[0]?.key ?? null } : DEFAULT_LESSON,
  };
}

/** Setup of a first visit: a few participants side by side, with different models if possible. */
export function buildFirstSetup(offers: readonly ProviderOffer[]): DiscussionSetup | null {
  const models = readyModels(offers);
  if (models.length === 0) return null;
  const alone = models.length === 1;
  const parts: readonly SampleParticipant[] = alone
    ? [builtinPersona("scientist"), builtinPersona("advocate")]
    : models.slice(0, 3).map(() => ({}));
  const participants = parts.map((part, place) => newParticipant(models[place % models.length] ?? "", part));
  return { ...EMPTY_SETUP, participants };
}

/** Sample questions for a mode. */
export function sampleQuestions(mode: Mode): readonly string[] {
  return SAMPLES.find((sample) => sample.mode === mode)?.questions ?? SAMPLES[0]?.questions ?? [];
}
