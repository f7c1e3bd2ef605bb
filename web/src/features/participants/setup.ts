/** Editable setup of a discussion: participants and mode options, and their conversion to the API. */

import type {
  Discussion,
  Preset,
  PresetChange,
  Participant,
  Persona,
  ParticipantInput,
} from "../../api/types.ts";
import { knownMode, modeSpec, type Mode } from "../../state/modes.ts";
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

interface DebateSettings {
  readonly lead: string | null;
  readonly quorum: number | null;
  readonly deadline: number | null;
  readonly skip_if_agreed: boolean;
  readonly ranking: boolean;
  readonly claims: boolean;
}

interface AdvisorSettings {
  readonly question_turns: number;
  readonly max_prompt_tokens: number;
  readonly cross_talk: boolean;
  readonly synthesis: boolean;
}

interface LessonSettings {
  readonly turns: number;
  readonly first_speaker: string | null;
  readonly topic: string;
}

export interface Table {
  readonly mode: Mode;
  readonly seats: readonly ParticipantDraft[];
  readonly rounds: number;
  readonly taskModel: string | null;
  readonly debate: DebateSettings;
  readonly advisors: AdvisorSettings;
  readonly directed: LessonSettings;
}

export const DEFAULT_DEBATE: DebateSettings = {
  lead: null,
  quorum: null,
  deadline: null,
  skip_if_agreed: false,
  ranking: true,
  claims: true,
};
export const DEFAULT_ADVISORS: AdvisorSettings = {
  question_turns: 3,
  max_prompt_tokens: 150_000,
  cross_talk: false,
  synthesis: false,
};
export const DEFAULT_LESSON: LessonSettings = { turns: 10, first_speaker: null, topic: "" };
export const EMPTY_TABLE: Table = {
  mode: "parallel",
  seats: [],
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
  const key = `seat-${++participantKeyCount}-${Math.random().toString(36).slice(2, 8)}`;
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
export function restoreTable(table: Partial<Table> = {}): Table {
  const seats = (table.seats ?? []).map((seat) => ({ ...PARTICIPANT_DEFAULTS, ...seat }));
  const debate = restoreOptions(DEFAULT_DEBATE, table.debate);
  const advisors = restoreOptions(DEFAULT_ADVISORS, table.advisors);
  const directed = restoreOptions(DEFAULT_LESSON, table.directed);
  return { ...EMPTY_TABLE, ...table, seats, debate, advisors, directed };
}

/** Drop unknown options: the server would reject them. */
function restoreOptions<T extends object>(defaults: T, stored: Partial<T> = {}): T {
  const known = Object.entries(stored).filter(([name]) => name in defaults);
  return { ...defaults, ...Object.fromEntries(known) };
}

/** Convert the setup of a discussion or preset. */
export function toTable(source: Discussion | Preset): Table {
  return {
    mode: knownMode(source.mode),
    seats: source.participants.map(({ id, ...one }) => ({ ...PARTICIPANT_DEFAULTS, ...one, key: id })),
    rounds: source.rounds,
    taskModel: source.task_model,
    debate: { ...DEFAULT_DEBATE, ...source.debate },
    advisors: { ...DEFAULT_ADVISORS, ...source.advisors },
    directed: { ...DEFAULT_LESSON, ...source.directed },
  };
}

export function withParticipant(table: Table, participant: ParticipantDraft): Table {
  const place = table.seats.findIndex((one) => one.key === participant.key);
  const seats = place < 0 ? [...table.seats, participant] : table.seats.with(place, participant);
  // Single mode calls only one participant, so a second one changes the mode.
  const mode = modeSpec(table.mode).only_first && seats.length > 1 ? EMPTY_TABLE.mode : table.mode;
  return { ...table, mode, seats };
}

/** Remove a participant, also from the mode options that refer to it. */
export function withoutParticipant(table: Table, key: string): Table {
  const { debate, directed } = table;
  return {
    ...table,
    seats: table.seats.filter((one) => one.key !== key),
    debate: debate.lead === key ? { ...debate, lead: null } : debate,
    directed: directed.first_speaker === key ? { ...directed, first_speaker: null } : directed,
  };
}

/** Restore a removed participant at its position, and in mode options that are unset since. */
export function restoreParticipant(table: Table, key: string, before: Table): Table {
  const place = before.seats.findIndex((one) => one.key === key);
  const seat = before.seats[place];
  if (!seat || table.seats.some((one) => one.key === key)) return table;
  const { debate, directed } = table;
  const isLead = before.debate.lead === key && debate.lead === null;
  const isFirstSpeaker = before.directed.first_speaker === key && directed.first_speaker === null;
  return {
    ...table,
    seats: table.seats.toSpliced(place, 0, seat),
    debate: isLead ? { ...debate, lead: key } : debate,
    directed: isFirstSpeaker ? { ...directed, first_speaker: key } : directed,
  };
}

/** Convert a setup to the API: participants and the options of the chosen mode. */
type TablePayload = Required<Omit<PresetChange, "name">>;

export function toTablePayload(table: Table, personas: readonly Persona[]): TablePayload {
  const { mode, seats, rounds, taskModel } = table;
  const names = resolveNames(seats, personas);
  const nameOf = (key: string | null) => names[seats.findIndex((one) => one.key === key)] ?? null;
  return {
    participants: seats.map(toParticipantInput),
    mode,
    rounds,
    task_model: taskModel,
    debate: mode === "debate" ? { ...table.debate, lead: nameOf(table.debate.lead) } : null,
    advisors: mode === "advisors" ? table.advisors : null,
    directed:
      mode === "directed" ? { ...table.directed, first_speaker: nameOf(table.directed.first_speaker) } : null,
  };
}

/** Omit defaults, so that the server decides them. */
function toParticipantInput({ key: _, ...seat }: ParticipantDraft): ParticipantInput {
  const fields = Object.entries(seat).filter(
    // An empty list counts as unset, like an empty string.
    ([name, value]) =>
      value !== null &&
      String(value) !== "" &&
      value !== PARTICIPANT_DEFAULTS[name as keyof typeof PARTICIPANT_DEFAULTS],
  );
  return Object.fromEntries(fields) as unknown as ParticipantInput;
}

/** Short summary: "3 participants, side by side". */
export function tableSummary({ mode, seats }: Table): string {
  const spec = modeSpec(mode);
  const title = spec.title.toLowerCase();
  if (spec.only_first) return title;
  return `${seats.length === 1 ? "1 participant" : `${seats.length} participants`}, ${title}`;
}

/** Why a discussion cannot start yet; empty if it can. */
export function validateTable(table: Table): string | null {
  const { title, min_participants: least } = modeSpec(table.mode);
  if (table.seats.length === 0) return "No participants yet. Add one.";
  if (table.seats.length >= least) return null;
  return `${title} needs at least two participants. Add one, or choose another mode.`;
}
