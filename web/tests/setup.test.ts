import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings, buildChange } from "../src/features/participants/changes.ts";
import {
  toDiscussionDraft,
  groupErrors,
  EMPTY_SETUP,
  toSetupPayload,
  validateSetup,
  newParticipant,
  restoreSetup,
  toSetup,
  withoutParticipant,
  withParticipant,
  restoreParticipant,
} from "../src/features/participants/setup.ts";
import { participantId, resolveNames } from "../src/features/participants/names.ts";
import type { Discussion, Preset, Persona } from "../src/api/types.ts";

const SCEPTIC = { id: "per_1", name: "The sceptic" } as Persona;
const PRESET: Preset = {
  id: "lup_1",
  name: "Two",
  mode: "debate",
  participants: [
    { id: "ida", name: "Ida", model: "a/b", persona: "per_1" },
    { id: "ben", name: "Ben", model: "a/c", temperature: 0, priority: 2 },
  ],
  rounds: 3,
  task_model: "a/tasks",
  debate: { lead: "ben", quorum: 1 },
  advisors: null,
  directed: null,
  created_at: 0,
};
const DISCUSSION = { ...PRESET, project: null, language: "en", model: null } as unknown as Discussion;

test("a stored setup of an older version gets missing fields and loses unknown ones", () => {
  const participant = newParticipant("a/b", { name: "Ida" });
  const { tools: _, ...olderParticipant } = participant;
  const { directed: __, ...olderSetup } = {
    ...EMPTY_SETUP,
    participants: [olderParticipant as typeof participant],
  };
  assert.deepEqual(restoreSetup(olderSetup), { ...EMPTY_SETUP, participants: [participant] });
  assert.deepEqual(restoreSetup(), EMPTY_SETUP);
  const debate = { ...EMPTY_SETUP.debate, quorum: 2 };
  const renamed = { ...EMPTY_SETUP, debate: { ...debate, gate: true } };
  assert.deepEqual(restoreSetup(renamed), { ...EMPTY_SETUP, debate });
});

test("names are resolved as on the server", () => {
  const participants = [
    { name: null, persona: null },
    { name: null, persona: "per_1" },
    { name: "Beta!", persona: null },
    { name: null, persona: "per_1" },
    { name: null, persona: null },
  ];
  assert.deepEqual(resolveNames(participants, [SCEPTIC]), ["Alpha", "The sceptic", "Beta!", "The sceptic 2", "Gamma"]);
  assert.equal(
    resolveNames(
      Array.from({ length: 25 }, () => ({ name: null, persona: null })),
      [],
    )[24],
    "Alpha 2",
  );
  assert.equal(participantId("  Frau Müller-Öz "), "frau-müller-öz");
  assert.equal(participantId("!"), "participant");
});

test("a participant with defaults sends only its model", () => {
  const setup = {
    ...EMPTY_SETUP,
    participants: [newParticipant("a/b"), newParticipant("a/b", { name: "Ida", temperature: 0 })],
  };
  assert.deepEqual(toSetupPayload(setup, []).participants, [
    { model: "a/b" },
    { name: "Ida", temperature: 0, model: "a/b" },
  ]);
});

test("only the options of the mode are sent, with current names of participants", () => {
  const setup = toSetup(PRESET);
  const sent = toSetupPayload(setup, [SCEPTIC]);
  assert.equal(sent.debate?.lead, "Ben");
  assert.equal(sent.debate?.quorum, 1);
  assert.equal(sent.debate?.ranking, true);
  assert.equal(sent.advisors, null);
  const [, ben] = setup.participants;
  assert.ok(ben);
  assert.equal(toSetupPayload(withParticipant(setup, { ...ben, name: "Benno" }), []).debate?.lead, "Benno");
  assert.equal(toSetupPayload({ ...setup, mode: "parallel" }, []).debate, null);
});

test("a preset gives the same participants and options", () => {
  const sent = toSetupPayload(toSetup(PRESET), [SCEPTIC]);
  assert.deepEqual(sent.participants, [
    { model: "a/b", persona: "per_1", name: "Ida" },
    { model: "a/c", name: "Ben", temperature: 0, priority: 2 },
  ]);
  assert.equal(sent.rounds, 3);
  assert.equal(sent.task_model, "a/tasks");
});

test("a removed participant leaves the options, and a second participant ends single mode", () => {
  assert.equal(withoutParticipant(toSetup(PRESET), "ben").debate.lead, null);
  const alone = { ...EMPTY_SETUP, mode: "single" as const, participants: [newParticipant("a/b")] };
  assert.equal(withParticipant(alone, newParticipant("a/c")).mode, "parallel");
});

test("a setup with too few participants is invalid", () => {
  assert.match(validateSetup(EMPTY_SETUP) ?? "", /No participants yet/);
  assert.match(
    validateSetup({ ...EMPTY_SETUP, mode: "debate", participants: [newParticipant("a/b")] }) ?? "",
    /Debate needs at least two/,
  );
  assert.equal(validateSetup({ ...EMPTY_SETUP, mode: "advisors", participants: [newParticipant("a/b")] }), null);
});

test("a draft converts to a request", () => {
  const file = { id: "fil_1", name: "a.txt", media_type: "text/plain", size: 1, created_at: 0 };
  const setup = { ...EMPTY_SETUP, participants: [newParticipant("a/b")] };
  const draft = { message: "Hi", setup, project: "prj_1", language: null, maxCostUsd: 0.5, files: [file] };
  assert.deepEqual(toDiscussionDraft(draft, []), {
    message: "Hi",
    participants: [{ model: "a/b" }],
    mode: "parallel",
    rounds: 2,
    task_model: null,
    debate: null,
    advisors: null,
    directed: null,
    project: "prj_1",
    language: null,
    max_cost_usd: 0.5,
    files: ["fil_1"],
  });
});

test("errors are grouped by the part of the form", () => {
  const errors = [
    { field: "participants[1].model", message: "there is no such model." },
    { field: "debate.quorum", message: "only 2 take part." },
    { field: "message", message: "it is empty." },
  ];
  assert.deepEqual(groupErrors("…", errors), {
    participants: "Participant 2: There is no such model.",
    options: "Only 2 take part.",
    question: "It is empty.",
  });
  assert.deepEqual(groupErrors("The budget is spent.", []), { question: "The budget is spent." });
});

test("a change has only the fields that differ", () => {
  const same = readSettings(DISCUSSION);
  assert.deepEqual(buildChange(DISCUSSION, same, []), {});
  assert.deepEqual(buildChange(DISCUSSION, { ...same, setup: { ...same.setup, mode: "parallel" } }, []), {
    mode: "parallel",
  });
  assert.deepEqual(buildChange(DISCUSSION, { ...same, model: "a/b", language: "de" }, []), {
    model: "a/b",
    language: "de",
  });
  assert.deepEqual(buildChange(DISCUSSION, { ...same, setup: { ...same.setup, taskModel: null } }, []), {
    task_model: null,
  });
});

test("a restored participant returns to its place, and other changes stay", () => {
  const before = toSetup(PRESET);
  const left = { ...withoutParticipant(before, "ben"), rounds: 5 };
  assert.deepEqual(restoreParticipant(left, "ben", before), { ...before, rounds: 5 });
  const newest = newParticipant("a/d");
  const others = withParticipant(withoutParticipant(before, "ida"), newest);
  assert.deepEqual(
    restoreParticipant(others, "ida", before).participants.map((one) => one.key),
    ["ida", "ben", newest.key],
  );
  const withOtherLead = { ...left, debate: { ...left.debate, lead: "ida" } };
  assert.equal(restoreParticipant(withOtherLead, "ben", before).debate.lead, "ida");
  assert.equal(restoreParticipant(before, "ben", before), before);
});
