/** Builds events, messages and runs as the server sends them. */

import type { Discussion, DiscussionDetail, Event, Message, Run } from "../src/api/types.ts";

const USAGE = {
  type: "usage",
  input: 3,
  output: 2,
  reasoning: 0,
  cached: 0,
  cache_written: 0,
  estimated: false,
} as const;

export const DISCUSSION = {
  id: "dis_1",
  title: "Tables",
  status: "active",
  mode: "parallel",
  participants: [
    { id: "alpha", name: "Alpha", model: "scripted/a" },
    { id: "beta", name: "Beta", model: "scripted/b" },
  ],
  rounds: 2,
  updated_at: 1,
} as unknown as Discussion;

/** Number events like the event log: from 1, without gaps. */
export function numberEvents(run: string, ...events: readonly object[]): Event[] {
  return events.map((event, place) => ({ run, seq: place + 1, at: place, ...event }) as Event);
}

const turnKey = (participant: string, stage = "answer", round = 0) => ({ participant, stage, round });

export const runStarted = { type: "run_started", participants: DISCUSSION.participants };
export const runEnded = (status = "completed") => ({ type: "run_ended", status });
export const turnStarted = (who: string, attempt = 1) => ({
  type: "turn_started",
  ...turnKey(who),
  attempt,
  model: `scripted/${who[0]}`,
});
export const textDelta = (who: string, text: string) => ({ type: "text_delta", ...turnKey(who), text });
export const thoughtDelta = (who: string, text: string) => ({ type: "thought_delta", ...turnKey(who), text });
export const textRetracted = (who: string) => ({ type: "text_retracted", ...turnKey(who) });
export const actionTaken = (who: string) => ({
  type: "action",
  ...turnKey(who),
  id: "act",
  action: { name: "wb_open" },
});
export const toolCall = (who: string, id: string, name = "words/write_down") => ({
  type: "tool_call",
  ...turnKey(who),
  call_id: id,
  name,
  arguments: '{"text":"Round."}',
});
export const approvalRequested = (who: string, id: string, repeated = false) => ({
  type: "approval_requested",
  ...turnKey(who),
  call_id: id,
  name: "words/write_down",
  timeout_seconds: 600,
  repeated,
});
export const approvalResolved = (who: string, id: string, outcome = "allow") => ({
  type: "approval_resolved",
  ...turnKey(who),
  call_id: id,
  outcome,
});
export const toolResult = (who: string, id: string, content = "Kept.", is_error = false) => ({
  type: "tool_result",
  ...turnKey(who),
  call_id: id,
  name: "words/write_down",
  content,
  is_error,
  seconds: 1.24,
});
export const turnEnded = (who: string, text: string, status = "completed") => ({
  type: "turn_ended",
  ...turnKey(who),
  status,
  message: { text, thoughts: "", details: "", lesson_items: "" },
  model: `scripted/${who[0]}`,
  usage: USAGE,
  cost_usd: 0,
  finish_reason: "stop",
  fault: null,
  first_token_seconds: 0.1,
  latency_seconds: 0.2,
});

export function message(id: string, run: string, who: string | null, content: string, seq = 1): Message {
  return {
    id,
    run,
    seq,
    discussion: "dis_1",
    role: who ? "assistant" : "user",
    participant: who,
    name: who,
    content,
    stage: who ? "answer" : null,
    round: 0,
    status: "completed",
    thoughts: "",
    visible_to: null,
    fault: null,
    usage: USAGE,
    cost_usd: 0,
    model: who ? `scripted/${who[0]}` : null,
    first_token_seconds: 0.1,
    latency_seconds: 0.2,
    finish_reason: "stop",
    version: 1,
    versions: 1,
    edited: false,
    created_at: seq,
  } as unknown as Message;
}

export function page(messages: readonly Message[], runs: readonly Run[] = [], before: number | null = null) {
  return { discussion: DISCUSSION, messages, before, runs, notices: [] } as DiscussionDetail;
}

export const liveRun = (id: string, regenerates: string | null = null) =>
  ({
    id,
    discussion: "dis_1",
    message: null,
    mode: "parallel",
    status: "running",
    revision: 0,
    regenerates,
  }) as Run;
