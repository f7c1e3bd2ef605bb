import assert from "node:assert/strict";
import { test } from "node:test";
import { hear, opened, withPage } from "../src/state/discussion.ts";
import { remarksOn } from "../src/state/remarks.ts";
import type { Run } from "../src/state/run.ts";
import { withWaiting } from "../src/state/waiting.ts";
import { begins, DISCUSSION, ended, live, message, numbered, page, says, started, stops } from "./events.ts";

const runOf = (...events: readonly object[]): Run => {
  const asked = withPage(opened("dis_1"), page([message("msg_1", "run_1", null, "Which?")]));
  const [run] = hear(asked, numbered("run_1", started, ...events)).runs;
  assert.ok(run);
  return run;
};
const waiting = (run: Run) =>
  withWaiting(run.turns, run, DISCUSSION).map((turn) => `${turn.participant} ${turn.state}`);

test("whoever has not begun waits, and nobody waits when it is over", () => {
  assert.deepEqual(waiting(runOf(begins("alpha"))), ["alpha speaking", "beta waiting"]);
  assert.deepEqual(waiting(runOf(begins("alpha"), stops("alpha", "Yes."), ended())), ["alpha completed"]);
});

test("only those wait who are spoken to", () => {
  const asked = { ...message("msg_1", "run_1", null, "You?"), audience: ["beta"] };
  const [run] = withPage(opened("dis_1"), page([asked], [live("run_1")])).runs;
  assert.ok(run);
  assert.deepEqual(waiting(run), ["beta waiting"]);
});

const notice = (kind: string, participant: string | null = "alpha") => ({
  type: "notice",
  kind,
  message: `${kind}.`,
  participant,
  charge: null,
});
const remarks = (run: Run) => {
  const [turn] = run.turns;
  assert.ok(turn);
  return remarksOn(run, turn).map((one) => one.kind);
};

test("while it tries, the newest remark is shown, and no longer when it speaks", () => {
  const tries = [begins("alpha"), notice("retry"), notice("waiting"), notice("missing", "beta")];
  assert.deepEqual(remarks(runOf(...tries)), ["waiting"]);
  assert.deepEqual(remarks(runOf(...tries, begins("alpha", 2), says("alpha", "Yes"))), []);
});

test("that another model was asked is worth knowing afterwards too", () => {
  const run = runOf(begins("alpha"), notice("fallback"), begins("alpha"), stops("alpha", "Yes."), ended());
  assert.deepEqual(remarks(run), ["fallback"]);
});
