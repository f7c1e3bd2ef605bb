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
  begins,
  draws,
  ended,
  live,
  message,
  numbered,
  page,
  retracts,
  says,
  started,
  stops,
  thinks,
} from "./events.ts";

const RUN = "run_1";
const OPEN = emptyDiscussion("dis_1");
const texts = (open: OpenDiscussion) =>
  open.runs.flatMap((run) => run.turns.map((turn) => `${turn.participant}: ${turn.text}`));

const TWO_ANSWERS = numbered(
  RUN,
  started,
  begins("alpha"),
  begins("beta"),
  says("alpha", "Round "),
  says("beta", "Square"),
  thinks("alpha", "hm"),
  says("alpha", "tables."),
  stops("alpha", "Round tables."),
  stops("beta", "Square"),
  ended(),
);

test("two speak at the same time, each in its own turn", () => {
  const open = applyEvents(OPEN, TWO_ANSWERS);
  assert.deepEqual(texts(open), ["alpha: Round tables.", "beta: Square"]);
  assert.equal(open.runs[0]?.turns[0]?.thoughts, "");
  assert.equal(hasLiveRun(open), false);
});

test("an attempt that begins anew discards what was shown of the turn, and what was drawn in it", () => {
  const open = applyEvents(
    OPEN,
    numbered(
      RUN,
      started,
      begins("alpha"),
      says("alpha", "Wro"),
      draws("alpha"),
      begins("alpha", 2),
      says("alpha", "Right"),
    ),
  );
  assert.deepEqual(texts(open), ["alpha: Right"]);
  assert.deepEqual(open.runs[0]?.actions, []);
  assert.equal(open.runs[0]?.turns[0]?.attempt, 2);
});

test("text that was retracted comes again as thought", () => {
  const open = applyEvents(
    OPEN,
    numbered(
      RUN,
      started,
      begins("alpha"),
      says("alpha", "Hm"),
      retracts("alpha"),
      thinks("alpha", "Hm"),
      says("alpha", "Yes"),
    ),
  );
  assert.deepEqual(texts(open), ["alpha: Yes"]);
  assert.equal(open.runs[0]?.turns[0]?.thoughts, "Hm");
});

test("a failed turn is a value beside the others", () => {
  const open = applyEvents(
    OPEN,
    numbered(RUN, started, begins("alpha"), stops("alpha", "", "failed"), begins("beta")),
  );
  assert.deepEqual(
    open.runs[0]?.turns.map((turn) => turn.state),
    ["failed", "speaking"],
  );
});

test("what goes on is asked for after the newest number that was heard", () => {
  assert.deepEqual(eventCursors(applyEvents(OPEN, TWO_ANSWERS.slice(0, 5))), [`${RUN}:5`]);
  assert.deepEqual(eventCursors(applyEvents(OPEN, TWO_ANSWERS)), []);
  assert.deepEqual(eventCursors(withPage(OPEN, page([], [live(RUN)]))), [`${RUN}:0`]);
});

test("messages that were read come before what is heard, and older pages before them", () => {
  const newest = page(
    [message("m3", "run_2", null, "And?", 3), message("m4", "run_2", "alpha", "So.", 4)],
    [],
    3,
  );
  const older = page([message("m1", RUN, null, "Why?", 1), message("m2", RUN, "alpha", "Because.", 2)]);
  const open = withOlderPage(
    applyEvents(withPage(OPEN, newest), numbered("run_3", started, begins("beta"))),
    older,
  );
  assert.deepEqual(
    open.runs.map((run) => run.id),
    [RUN, "run_2", "run_3"],
  );
  assert.equal(open.olderCursor, null);
  assert.equal(open.runs[0]?.userMessage?.content, "Why?");
});

test("a run that is split over two pages is one run", () => {
  const open = withOlderPage(
    withPage(OPEN, page([message("m2", RUN, "alpha", "Because.", 2)], [], 2)),
    page([message("m1", RUN, null, "Why?", 1)]),
  );
  assert.equal(open.runs.length, 1);
  assert.equal(open.runs[0]?.userMessage?.content, "Why?");
});

test("of a resync everything from the start is heard again, and nothing twice", () => {
  const some = applyEvents(OPEN, TWO_ANSWERS.slice(0, 7));
  const again = applyEvents(some, [{ type: "resync", run: RUN, after: 0 }, ...TWO_ANSWERS]);
  assert.deepEqual(texts(again), ["alpha: Round tables.", "beta: Square"]);
});

test("whoever reads the page and listens at any moment comes to the same state", () => {
  const stored = [
    message("m0", RUN, null, "Why?", 1),
    message("m1", RUN, "alpha", "Round tables.", 2),
    message("m2", RUN, "beta", "Square", 3),
  ];
  const at = fc.integer({ min: 0, max: TWO_ANSWERS.length });
  fc.assert(
    fc.property(at, at, at, (read, left, back) => {
      const known = stored.filter(
        (one, place) => place === 0 || TWO_ANSWERS[6 + place]!.seq <= read || !one.participant,
      );
      const first = withPage(OPEN, page(known, read < TWO_ANSWERS.length ? [live(RUN)] : []));
      const here = applyEvents(first, TWO_ANSWERS.slice(0, left));
      const after = Math.min(back, left);
      const open = withPage(applyEvents(here, TWO_ANSWERS.slice(after)), page(stored));
      assert.deepEqual(texts(open).sort(), ["alpha: Round tables.", "beta: Square"]);
      assert.equal(hasLiveRun(open), false);
      assert.deepEqual(open.runs[0]?.turns.map((turn) => turn.message).sort(), ["m1", "m2"]);
    }),
  );
});

test("events heard one by one or all at once make the same state", () => {
  const cut = fc.integer({ min: 0, max: TWO_ANSWERS.length });
  fc.assert(
    fc.property(cut, (place) => {
      const parts: Event[][] = [TWO_ANSWERS.slice(0, place), TWO_ANSWERS.slice(place)];
      assert.deepEqual(parts.reduce(applyEvents, OPEN), applyEvents(OPEN, TWO_ANSWERS));
    }),
  );
});

test("a page that was read before the end and comes after it does not let a run go on for ever", () => {
  const open = withPage(applyEvents(OPEN, TWO_ANSWERS), page([], [live(RUN)]));
  assert.equal(hasLiveRun(open), false);
  assert.equal(hasLiveRun(withPage(open, page([], [{ ...live(RUN), revision: 1 }]))), true);
});

test("a run on an earlier page that is tried again is shown when that page is read, and once", () => {
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

test("what came while nobody listened begins the page anew, where there would be a gap", () => {
  const known = withPage(OPEN, page([message("m1", RUN, null, "Why?", 1)]));
  const later = page([message("m9", "run_9", null, "And?", 9)], [], 9);
  const open = withPage(known, later);
  assert.deepEqual([open.runs.map((run) => run.id), open.olderCursor], [["run_9"], 9]);
});

test("a run that is told from the start again is forgotten first", () => {
  const other = numbered(
    RUN,
    started,
    begins("alpha"),
    says("alpha", "Oval"),
    stops("alpha", "Oval"),
    ended(),
  );
  const open = applyEvents(applyEvents(OPEN, TWO_ANSWERS), [
    { type: "resync", run: RUN, after: 0 },
    ...other,
  ]);
  assert.deepEqual(texts(open), ["alpha: Oval"]);
});

test("the log of a run that is told again leaves newer versions alone", () => {
  const renewed = { ...message("m1", RUN, "alpha", "Better.", 2), version: 2, versions: 2 };
  const open = applyEvents(withPage(OPEN, page([renewed])), TWO_ANSWERS);
  assert.ok(texts(open).includes("alpha: Better."));
});
