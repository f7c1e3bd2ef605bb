import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  applyEvents,
  hasLiveRun,
  emptyDiscussion,
  eventCursors,
  withOlderPage,
  withPage,
  type OpenDiscussion,
} from "../src/state/discussion.ts";
import type { Event } from "../src/api/types.ts";
import {
  turnStarted,
  actionTaken,
  runEnded,
  liveRun,
  message,
  numberEvents,
  page,
  textRetracted,
  textDelta,
  runStarted,
  turnEnded,
  thoughtDelta,
} from "./events.ts";

const RUN = "run_1";
const OPEN = emptyDiscussion("dis_1");
const texts = (open: OpenDiscussion) =>
  open.runs.flatMap((run) => run.turns.map((turn) => `${turn.participant}: ${turn.text}`));

const TWO_ANSWERS = numberEvents(
  RUN,
  runStarted,
  turnStarted("alpha"),
  turnStarted("beta"),
  textDelta("alpha", "Round "),
  textDelta("beta", "Square"),
  thoughtDelta("alpha", "hm"),
  textDelta("alpha", "tables."),
  turnEnded("alpha", "Round tables."),
  turnEnded("beta", "Square"),
  runEnded(),
);

test("two participants stream at the same time, each into its own turn", () => {
  const open = applyEvents(OPEN, TWO_ANSWERS);
  assert.deepEqual(texts(open), ["alpha: Round tables.", "beta: Square"]);
  assert.equal(open.runs[0]?.turns[0]?.thoughts, "");
  assert.equal(hasLiveRun(open), false);
});

test("a new attempt discards the text and the actions of the last one", () => {
  const open = applyEvents(
    OPEN,
    numberEvents(
      RUN,
      runStarted,
      turnStarted("alpha"),
      textDelta("alpha", "Wro"),
      actionTaken("alpha"),
      turnStarted("alpha", 2),
      textDelta("alpha", "Right"),
    ),
  );
  assert.deepEqual(texts(open), ["alpha: Right"]);
  assert.deepEqual(open.runs[0]?.actions, []);
  assert.equal(open.runs[0]?.turns[0]?.attempt, 2);
});

test("retracted text is replaced by thoughts", () => {
  const open = applyEvents(
    OPEN,
    numberEvents(
      RUN,
      runStarted,
      turnStarted("alpha"),
      textDelta("alpha", "Hm"),
      textRetracted("alpha"),
      thoughtDelta("alpha", "Hm"),
      textDelta("alpha", "Yes"),
    ),
  );
  assert.deepEqual(texts(open), ["alpha: Yes"]);
  assert.equal(open.runs[0]?.turns[0]?.thoughts, "Hm");
});

test("a failed turn does not affect the others", () => {
  const open = applyEvents(
    OPEN,
    numberEvents(RUN, runStarted, turnStarted("alpha"), turnEnded("alpha", "", "failed"), turnStarted("beta")),
  );
  assert.deepEqual(
    open.runs[0]?.turns.map((turn) => turn.state),
    ["failed", "speaking"],
  );
});

test("cursors have the last event of each live run", () => {
  assert.deepEqual(eventCursors(applyEvents(OPEN, TWO_ANSWERS.slice(0, 5))), [`${RUN}:5`]);
  assert.deepEqual(eventCursors(applyEvents(OPEN, TWO_ANSWERS)), []);
  assert.deepEqual(eventCursors(withPage(OPEN, page([], [liveRun(RUN)]))), [`${RUN}:0`]);
});

test("older pages come first, then loaded messages, then streamed runs", () => {
  const newest = page([message("m3", "run_2", null, "And?", 3), message("m4", "run_2", "alpha", "So.", 4)], [], 3);
  const older = page([message("m1", RUN, null, "Why?", 1), message("m2", RUN, "alpha", "Because.", 2)]);
  const open = withOlderPage(
    applyEvents(withPage(OPEN, newest), numberEvents("run_3", runStarted, turnStarted("beta"))),
    older,
  );
  assert.deepEqual(
    open.runs.map((run) => run.id),
    [RUN, "run_2", "run_3"],
  );
  assert.equal(open.olderCursor, null);
  assert.equal(open.runs[0]?.userMessage?.content, "Why?");
});

test("a run on two pages is merged into one run", () => {
  const open = withOlderPage(
    withPage(OPEN, page([message("m2", RUN, "alpha", "Because.", 2)], [], 2)),
    page([message("m1", RUN, null, "Why?", 1)]),
  );
  assert.equal(open.runs.length, 1);
  assert.equal(open.runs[0]?.userMessage?.content, "Why?");
});

test("after a resync, repeated events are not applied twice", () => {
  const partial = applyEvents(OPEN, TWO_ANSWERS.slice(0, 7));
  const resynced = applyEvents(partial, [{ type: "resync", run: RUN, after: 0 }, ...TWO_ANSWERS]);
  assert.deepEqual(texts(resynced), ["alpha: Round tables.", "beta: Square"]);
});

test("loading and streaming give the same state, whatever their order", () => {
  const stored = [
    message("m0", RUN, null, "Why?", 1),
    message("m1", RUN, "alpha", "Round tables.", 2),
    message("m2", RUN, "beta", "Square", 3),
  ];
  const at = fc.integer({ min: 0, max: TWO_ANSWERS.length });
  fc.assert(
    fc.property(at, at, at, (loadedAt, lastApplied, replayFrom) => {
      const known = stored.filter(
        (one, place) => place === 0 || TWO_ANSWERS[6 + place]!.seq <= loadedAt || !one.participant,
      );
      const first = withPage(OPEN, page(known, loadedAt < TWO_ANSWERS.length ? [liveRun(RUN)] : []));
      const streamed = applyEvents(first, TWO_ANSWERS.slice(0, lastApplied));
      const after = Math.min(replayFrom, lastApplied);
      const open = withPage(applyEvents(streamed, TWO_ANSWERS.slice(after)), page(stored));
      assert.deepEqual(texts(open).sort(), ["alpha: Round tables.", "beta: Square"]);
      assert.equal(hasLiveRun(open), false);
      assert.deepEqual(open.runs[0]?.turns.map((turn) => turn.message).sort(), ["m1", "m2"]);
    }),
  );
});

test("the batching of events does not change the state", () => {
  const cut = fc.integer({ min: 0, max: TWO_ANSWERS.length });
  fc.assert(
    fc.property(cut, (place) => {
      const parts: Event[][] = [TWO_ANSWERS.slice(0, place), TWO_ANSWERS.slice(place)];
      assert.deepEqual(parts.reduce(applyEvents, OPEN), applyEvents(OPEN, TWO_ANSWERS));
    }),
  );
});

test("a stale page does not make an ended run live again", () => {
  const open = withPage(applyEvents(OPEN, TWO_ANSWERS), page([], [liveRun(RUN)]));
  assert.equal(hasLiveRun(open), false);
  assert.equal(hasLiveRun(withPage(open, page([], [{ ...liveRun(RUN), revision: 1 }]))), true);
});

test("a retried run on an older page is shown once, after that page is loaded", () => {
  const newest = page([message("m3", "run_2", null, "And?", 3)], [], 3);
  const open = applyEvents(withPage(OPEN, newest), TWO_ANSWERS);
  assert.deepEqual(
    open.runs.map((run) => run.id),
    ["run_2"],
  );
  const older = page([message("m1", RUN, null, "Why?", 1), message("m2", RUN, "alpha", "Because.", 2)]);
  const all = withOlderPage(withOlderPage(open, older), older);
  assert.deepEqual(
    all.runs.map((run) => run.turns.length),
    [1, 0],
  );
});

test("a page that would leave a gap replaces the loaded messages", () => {
  const known = withPage(OPEN, page([message("m1", RUN, null, "Why?", 1)]));
  const later = page([message("m9", "run_9", null, "And?", 9)], [], 9);
  const open = withPage(known, later);
  assert.deepEqual([open.runs.map((run) => run.id), open.olderCursor], [["run_9"], 9]);
});

test("a resync discards the old events of a run", () => {
  const other = numberEvents(
    RUN,
    runStarted,
    turnStarted("alpha"),
    textDelta("alpha", "Oval"),
    turnEnded("alpha", "Oval"),
    runEnded(),
  );
  const open = applyEvents(applyEvents(OPEN, TWO_ANSWERS), [{ type: "resync", run: RUN, after: 0 }, ...other]);
  assert.deepEqual(texts(open), ["alpha: Oval"]);
});

test("repeated events of a run do not overwrite newer versions", () => {
  const regenerated = { ...message("m1", RUN, "alpha", "Better.", 2), version: 2, versions: 2 };
  const open = applyEvents(withPage(OPEN, page([regenerated])), TWO_ANSWERS);
  assert.ok(texts(open).includes("alpha: Better."));
});
