/** Editable setup of a discussion: participants and mode options, and their conversion to the API. */

import {
  MODES,
  type AdvisorOptions,
  type DebateOptions,
  type DirectedOptions,
  type Discussion,
  type Preset,
  type PresetChange,
  type Participant,
  type Persona,
  type ParticipantInput,
  type DiscussionDraft,
  type FieldError,
  type StoredFile,
} from "../../api/types.ts";
import { knownMode, modeSpec, type Mode } from "../../state/run.ts";
import { resolveNames } from "./names.ts";

/** `key` identifies a participant while names change. Mode options refer to the key. */
export interface ParticipantDraft {
  readonly key: string;
  readonly model: string;
  readonly persona: string | null;
  readonly name: string | null;
  readonly temperature: number | null;
  readonly max_tokens: number | null;
  readonly thinking: Participant["thinking"];
  readonly role: Participant["role"];
  readonly priority: number;
  readonly active: boolean;
  readonly colour: string | null;
  readonly avatar: string | null;
  /** Tool servers, or single tools as `server/tool`. */
  readonly tools: readonly string[];
}

export interface DiscussionSetup {
  readonly mode: Mode;
  readonly participants: readonly ParticipantDraft[];
  readonly rounds: number;
  readonly taskModel: string | null;
  readonly debate: Readonly<Required<DebateOptions>>;
  readonly advisors: Readonly<Required<AdvisorOptions>>;
  readonly directed: Readonly<Required<DirectedOptions>>;
}

export const DEFAULT_DEBATE: DiscussionSetup["debate"] = {
  lead: null,
  quorum: null,
  deadline: null,
  skip_if_agreed: false,
  ranking: true,
  claims: true,
};
export const DEFAULT_ADVISORS: DiscussionSetup["advisors"] = {
  question_turns: 3,
  max_prompt_tokens: 150_000,
  cross_talk: false,
  synthesis: false,
};
export const DEFAULT_LESSON: DiscussionSetup["directed"] = { turns: 10, first_speaker: null, topic: "" };
export const EMPTY_SETUP: DiscussionSetup = {
  mode: "parallel",
  participants: [],
  rounds: 2,
  taskModel: null,
  debate: DEFAULT_DEBATE,
  advisors: DEFAULT_ADVISORS,
  directed: DEFAULT_LESSON,
};
export const MAX_PARTICIPANTS = 24;

let participantKeyCount = 0;

/** Create a participant with default settings. */
export function newParticipant(model: string, overrides: Partial<ParticipantDraft> = {}): ParticipantDraft {
  const key = `participant-${++participantKeyCount}-${Math.random().toString(36).slice(2, 8)}`;
  return { ...PARTICIPANT_DEFAULTS, key, model, ...overrides };
}

const PARTICIPANT_DEFAULTS: Omit<ParticipantDraft, "key" | "model"> = {
  persona: null,
  name: null,
  temperature: null,
  max_tokens: null,
  thinking: null,
  role: null,
  priority: 0,
  active: true,
  colour: null,
  avatar: null,
  tools: [],
};

/** Restore a stored setup. An older page may have stored other fields. */
export function restoreSetup(setup: Partial<DiscussionSetup> = {}): DiscussionSetup {
  const participants = (setup.participants ?? []).map((participant) => ({
    ...PARTICIPANT_DEFAULTS,
    ...participant,
  }));
  const debate = restoreOptions(DEFAULT_DEBATE, setup.debate);
  const advisors = restoreOptions(DEFAULT_ADVISORS, setup.advisors);
  const directed = restoreOptions(DEFAULT_LESSON, setup.directed);
  return { ...EMPTY_SETUP, ...setup, participants, debate, advisors, directed };
}

/** Drop unknown options: the server would reject them. */
function restoreOptions<T extends object>(defaults: T, stored: Partial<T> = {}): T {
  const known = Object.entries(stored).filter(([name]) => name in defaults);
  return { ...defaults, ...Object.fromEntries(known) };
}

/** Convert the setup of a discussion or preset. */
export function toSetup(source: Discussion | Preset): DiscussionSetup {
  return {
    mode: knownMode(source.mode),
    participants: source.participants.map(({ id, ...one }) => ({ ...PARTICIPANT_DEFAULTS, ...one, key: id })),
    rounds: source.rounds,
    taskModel: source.task_model,
    debate: { ...DEFAULT_DEBATE, ...source.debate },
    advisors: { ...DEFAULT_ADVISORS, ...source.advisors },
    directed: { ...DEFAULT_LESSON, ...source.directed },
  };
}

export function withParticipant(setup: DiscussionSetup, participant: ParticipantDraft): DiscussionSetup {
  const place = setup.participants.findIndex((one) => one.key === participant.key);
  const participants = place < 0 ? [...setup.participants, participant] : setup.participants.with(place, participant);
  // Single mode calls only one participant, so a second one changes the mode.
  const mode = modeSpec(setup.mode).only_first && participants.length > 1 ? EMPTY_SETUP.mode : setup.mode;
  return { ...setup, mode, participants };
}

/** Remove a participant, also from the mode options that refer to it. */
export function withoutParticipant(setup: DiscussionSetup, key: string): DiscussionSetup {
  const { debate, directed } = setup;
  return {
    ...setup,
    participants: setup.participants.filter((one) => one.key !== key),
    debate: debate.lead === key ? { ...debate, lead: null } : debate,
    directed: directed.first_speaker === key ? { ...directed, first_speaker: null } : directed,
  };
}

/** Restore a removed participant at its position, and in mode options that are unset since. */
export function restoreParticipant(setup: DiscussionSetup, key: string, before: DiscussionSetup): DiscussionSetup {
  const place = before.participants.findIndex((one) => one.key === key);
  const participant = before.participants[place];
  if (!participant || setup.participants.some((one) => one.key === key)) return setup;
  const { debate, directed } = setup;
  const isLead = before.debate.lead === key && debate.lead === null;
  const isFirstSpeaker = before.directed.first_speaker === key && directed.first_speaker === null;
  return {
    ...setup,
    participants: setup.participants.toSpliced(place, 0, participant),
    debate: isLead ? { ...debate, lead: key } : debate,
    directed: isFirstSpeaker ? { ...directed, first_speaker: key } : directed,
  };
}

type SetupPayload = Required<Omit<PresetChange, "name">>;

/** Convert a setup to the API: participants and the options of the chosen mode. */
export function toSetupPayload(setup: DiscussionSetup, personas: readonly Persona[]): SetupPayload {
  const { mode, participants, rounds, taskModel } = setup;
  const names = resolveNames(participants, personas);
  const nameOf = (key: string | null) => names[participants.findIndex((one) => one.key === key)] ?? null;
  return {
    participants: participants.map(toParticipantInput),
    mode,
    rounds,
    task_model: taskModel,
    debate: mode === "debate" ? { ...setup.debate, lead: nameOf(setup.debate.lead) } : null,
    advisors: mode === "advisors" ? setup.advisors : null,
    directed: mode === "directed" ? { ...setup.directed, first_speaker: nameOf(setup.directed.first_speaker) } : null,
  };
}

/** Omit defaults, so that the server decides them. */
function toParticipantInput({ key: _, ...participant }: ParticipantDraft): ParticipantInput {
  const fields = Object.entries(participant).filter(
    // An empty list counts as unset, like an empty string.
    ([name, value]) =>
      value !== null &&
      String(value) !== "" &&
      value !== PARTICIPANT_DEFAULTS[name as keyof typeof PARTICIPANT_DEFAULTS],
  );
  return Object.fromEntries(fields) as unknown as ParticipantInput;
}

/** Short summary: "3 participants, side by side". */
export function setupSummary({ mode, participants }: DiscussionSetup): string {
  const spec = modeSpec(mode);
  const title = spec.title.toLowerCase();
  if (spec.only_first) return title;
  return `${participants.length === 1 ? "1 participant" : `${participants.length} participants`}, ${title}`;
}

/** Why a discussion cannot start yet; empty if it can. */
export function validateSetup(setup: DiscussionSetup): string | null {
  const { title, min_participants: least } = modeSpec(setup.mode);
  if (setup.participants.length === 0) return "No participants yet. Add one.";
  if (setup.participants.length >= least) return null;
  return `${title} needs at least two participants. Add one, or choose another mode.`;
}

/** Draft of a new discussion. */
export interface NewDiscussionValues {
  readonly message: string;
  readonly setup: DiscussionSetup;
  readonly project: string | null;
  readonly language: string | null;
  readonly maxCostUsd: number | null;
  readonly files: readonly StoredFile[];
}

/** Convert a draft to the API. */
export function toDiscussionDraft(draft: NewDiscussionValues, personas: readonly Persona[]): DiscussionDraft {
  const { message, setup, project, language, maxCostUsd, files } = draft;
  return {
    ...toSetupPayload(setup, personas),
    message,
    project,
    language,
    max_cost_usd: maxCostUsd,
    files: files.map((file) => file.id),
  };
}

type DraftPart = "question" | "participants" | "mode" | "options";

const PART_BY_FIELD: Record<string, DraftPart> = {
  message: "question",
  files: "question",
  participants: "participants",
  mode: "mode",
  rounds: "options",
  task_model: "options",
  max_cost_usd: "question",
  project: "options",
  language: "options",
  model: "options",
};

/** Errors by part of the page; errors of other fields are shown at the question. */
export type DraftErrors = Partial<Record<DraftPart, string>>;

export function groupErrors(words: string, errors: readonly FieldError[]): DraftErrors {
  if (errors.length === 0) return { question: words };
  const wrong: DraftErrors = {};
  for (const { field, message } of errors) {
    const name = field.split(/[.[]/, 1)[0] ?? "";
    // The options of a mode are in a field with its name.
    const part = PART_BY_FIELD[name] ?? (name in MODES ? "options" : "question");
    const messages = [wrong[part], formatFieldError(field, message)].filter(Boolean);
    wrong[part] = messages.join(" ");
  }
  return wrong;
}

/** Prefix an error with the participant's number, and drop the field name. */
function formatFieldError(field: string, message: string): string {
  const place = /^participants\[(\d+)\]/.exec(field)?.[1];
  const words = message.charAt(0).toUpperCase() + message.slice(1);
  return place === undefined ? words : `Participant ${Number(place) + 1}: ${words}`;
}
