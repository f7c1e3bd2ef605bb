/** A table that is being laid: who sits there and by which rules they talk. Pure values, and what they become. */

import type {
  Discussion,
  Preset,
  PresetChange,
  Participant,
  Persona,
  ParticipantInput,
} from "../../api/types.ts";
import { modeInfo, type Mode } from "../../state/modes.ts";
import { resolveNames } from "./names.ts";

/** `key` tells seats apart while names change; rules that point to somebody point to it. */
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
  /** Servers of tools, or single tools as `server/tool`. */
  readonly tools: readonly string[];
}

interface DebateSettings {
  readonly lead: string | null;
  readonly quorum: number | null;
  readonly deadline: number | null;
  readonly gate: boolean;
  readonly ranking: boolean;
  readonly ledger: boolean;
}

interface AdvisorSettings {
  readonly early: number;
  readonly budget: number;
  readonly cross_talk: boolean;
  readonly synthesis: boolean;
}

interface LessonSettings {
  readonly turns: number;
  readonly trigger: string | null;
  readonly topic: string;
}

export interface Table {
  readonly mode: Mode;
  readonly seats: readonly ParticipantDraft[];
  readonly rounds: number;
  readonly clerk: string | null;
  readonly debate: DebateSettings;
  readonly advisors: AdvisorSettings;
  readonly directed: LessonSettings;
}

export const DEFAULT_DEBATE: DebateSettings = {
  lead: null,
  quorum: null,
  deadline: null,
  gate: false,
  ranking: true,
  ledger: true,
};
export const DEFAULT_ADVISORS: AdvisorSettings = {
  early: 3,
  budget: 150_000,
  cross_talk: false,
  synthesis: false,
};
export const DEFAULT_LESSON: LessonSettings = { turns: 10, trigger: null, topic: "" };
export const EMPTY_TABLE: Table = {
  mode: "parallel",
  seats: [],
  rounds: 2,
  clerk: null,
  debate: DEFAULT_DEBATE,
  advisors: DEFAULT_ADVISORS,
  directed: DEFAULT_LESSON,
};
export const MAX_PARTICIPANTS = 24;

let participantKeyCount = 0;

/** Make a seat for a model that nobody has asked anything special of. */
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

/** Lay a table again that an older page may have kept, which knew less of tables and of seats. */
export function restoreTable(table: Partial<Table> = {}): Table {
  const seats = (table.seats ?? []).map((seat) => ({ ...PARTICIPANT_DEFAULTS, ...seat }));
  return { ...EMPTY_TABLE, ...table, seats };
}

/** Lay the table of a discussion or of a line-up that was kept. */
export function toTable(source: Discussion | Preset): Table {
  return {
    mode: modeInfo(source.mode).mode,
    seats: source.participants.map(({ id, ...one }) => ({ ...PARTICIPANT_DEFAULTS, ...one, key: id })),
    rounds: source.rounds,
    clerk: source.clerk,
    debate: { ...DEFAULT_DEBATE, ...source.debate },
    advisors: { ...DEFAULT_ADVISORS, ...source.advisors },
    directed: { ...DEFAULT_LESSON, ...source.directed },
  };
}

export function withParticipant(table: Table, participant: ParticipantDraft): Table {
  const place = table.seats.findIndex((one) => one.key === participant.key);
  const seats = place < 0 ? [...table.seats, participant] : table.seats.with(place, participant);
  // Whoever asks for a second voice wants to hear it.
  const mode = table.mode === "single" && seats.length > 1 ? "parallel" : table.mode;
  return { ...table, mode, seats };
}

/** Take somebody from the table, and from the rules that named it. */
export function withoutParticipant(table: Table, key: string): Table {
  const { debate, directed } = table;
  return {
    ...table,
    seats: table.seats.filter((one) => one.key !== key),
    debate: debate.lead === key ? { ...debate, lead: null } : debate,
    directed: directed.trigger === key ? { ...directed, trigger: null } : directed,
  };
}

/** Bring somebody back to the place it had before, and into the rules that named it and name nobody since. */
export function restoreParticipant(table: Table, key: string, before: Table): Table {
  const place = before.seats.findIndex((one) => one.key === key);
  const seat = before.seats[place];
  if (!seat || table.seats.some((one) => one.key === key)) return table;
  const { debate, directed } = table;
  const isLead = before.debate.lead === key && debate.lead === null;
  const isTrigger = before.directed.trigger === key && directed.trigger === null;
  return {
    ...table,
    seats: table.seats.toSpliced(place, 0, seat),
    debate: isLead ? { ...debate, lead: key } : debate,
    directed: isTrigger ? { ...directed, trigger: key } : directed,
  };
}

/** What the server is told of a table: who sits there, and the rules of the mode that was chosen. */
type TablePayload = Required<Omit<PresetChange, "name">>;

export function toTablePayload(table: Table, personas: readonly Persona[]): TablePayload {
  const { mode, seats, rounds, clerk } = table;
  const names = resolveNames(seats, personas);
  const nameOf = (key: string | null) => names[seats.findIndex((one) => one.key === key)] ?? null;
  return {
    participants: seats.map(toParticipantInput),
    mode,
    rounds,
    clerk,
    debate: mode === "debate" ? { ...table.debate, lead: nameOf(table.debate.lead) } : null,
    advisors: mode === "advisors" ? table.advisors : null,
    directed: mode === "directed" ? { ...table.directed, trigger: nameOf(table.directed.trigger) } : null,
  };
}

/** What is not asked for is left out: the server knows best what is usual. */
function toParticipantInput({ key: _, ...seat }: ParticipantDraft): ParticipantInput {
  const said = Object.entries(seat).filter(
    // An empty list is written as an empty text is.
    ([name, value]) =>
      value !== null &&
      String(value) !== "" &&
      value !== PARTICIPANT_DEFAULTS[name as keyof typeof PARTICIPANT_DEFAULTS],
  );
  return Object.fromEntries(said) as unknown as ParticipantInput;
}

/** Who talks and how, in a few words: "3 voices, side by side". */
export function tableSummary({ mode, seats }: Table): string {
  const title = modeInfo(mode).title.toLowerCase();
  if (mode === "single") return title;
  return `${seats.length === 1 ? "1 voice" : `${seats.length} voices`}, ${title}`;
}

/** Why a table cannot begin yet, in words for whoever lays it. */
export function validateTable(table: Table): string | null {
  const { title, minParticipants: least } = modeInfo(table.mode);
  if (table.seats.length === 0) return "Nobody sits at the table yet. Add a voice.";
  if (table.seats.length >= least) return null;
  return `${title} takes at least two voices. Add one, or choose another way to talk.`;
}
