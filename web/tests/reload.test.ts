import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { applyEvents, emptyDiscussion, withOlderPage, withPage, type OpenDiscussion } from "../src/state/discussion.ts";
import { turnNotices } from "../src/state/run.ts";
import type { DiscussionDetail, Event, Message } from "../src/api/types.ts";
import { runEnded, message, numberEvents, page, runStarted } from "./events.ts";
import { turnEndedIn, turnStartedIn, notice } from "./debates.ts";

const RUN = "run_1";
const summarized = {
  type: "reference_summarized",
  message: "msg_0",
  title: "Chairs",
  discussion: "dis_2",
  summary: "sum_1",
};
const turnCutOff = (who: string, stage: string) => ({ ...turnEndedIn(who, stage), finish_reason: "length" });

/** A run with notices about first and second turns, and about the run. */
const EVENTS = numberEvents(
  RUN,
  runStarted,
  summarized,
  turnStartedIn("alpha", "initial"),
  turnStartedIn("beta", "initial"),
  notice("fallback", "Another model is asked.", "alpha"),
  turnStartedIn("alpha", "initial"),
  notice("retry", "Tried again.", "beta"),
  turnEndedIn("alpha", "initial"),
  turnCutOff("beta", "initial"),
  notice("agreed", "They agree."),
  turnStartedIn("alpha", "debate"),
  notice("missing", "There is no list of claims."),
  turnCutOff("alpha", "debate"),
  turnStartedIn("beta", "debate"),
  notice("fallback", "Another model is asked.", "beta"),
  turnStartedIn("beta", "debate"),
  turnEndedIn("beta", "debate", "stopped"),
  runEnded(),
);

/** The page that the server returns for it: a message for each ended turn, and the notices. */
function loadedPage(): DiscussionDetail {
  const question = message("msg_0", RUN, null, "Which?", 0);
  const answers = EVENTS.flatMap((event): Message[] =>
    event.type === "turn_ended"
      ? [
          {
            ...message(`msg_${event.seq}`, RUN, event.participant, event.message.text, event.seq),
            stage: event.stage,
            status: event.status,
            finish_reason: event.finish_reason,
            created_at: event.at,
          },
        ]
      : [],
  );
  const notices = EVENTS.filter((event) => event.type === "notice" || event.type === "reference_summarized");
  return { ...page([question, ...answers]), notices };
}

/** The visible state of the first run. */
function visibleState(open: OpenDiscussion) {
  const [run] = open.runs;
  assert.ok(run);
  return {
    question: run.userMessage?.id,
    summaries: run.referenceSummaries.map((one) => one.title),
    notices: run.notices.map((one) => [one.seq, one.message]),
    turns: run.turns
      .map((turn) => ({
        key: turn.key,
        text: turn.text,
        state: turn.state,
        finish: turn.finish,
        notices: turnNotices(run, turn).map((one) => one.message),
      }))
      .sort((a, b) => a.key.localeCompare(b.key)),
  };
}

const openAfter = (events: readonly Event[]) =>
  applyEvents(withPage(emptyDiscussion("dis_1"), page([loadedPage().messages[0]!])), events);

test("a reload shows the same as the stream", () => {
  const streamed = visibleState(openAfter(EVENTS));
  assert.deepEqual(visibleState(withPage(emptyDiscussion("dis_1"), loadedPage())), streamed);
  assert.deepEqual(
    streamed.turns.map((turn) => [turn.key, turn.finish, turn.notices.length]),
    [
      ["debate/0/alpha", "length", 0],
      ["debate/0/beta", "stop", 1],
      ["initial/0/alpha", "stop", 1],
      ["initial/0/beta", "length", 0],
    ],
  );
});

test("nothing is shown twice, whenever the page is loaded during the stream", () => {
  const streamed = visibleState(openAfter(EVENTS));
  fc.assert(
    fc.property(fc.integer({ min: 0, max: EVENTS.length }), (place) => {
      const open = withPage(openAfter(EVENTS.slice(0, place)), { ...loadedPage(), messages: [] });
      assert.deepEqual(visibleState(withPage(applyEvents(open, EVENTS.slice(place)), loadedPage())), streamed);
    }),
  );
});

test("a run on two pages has each notice once", () => {
  const { messages, ...rest } = loadedPage();
  const newest = { ...rest, messages: messages.slice(3), before: 3 };
  const open = withOlderPage(withPage(emptyDiscussion("dis_1"), newest), {
    ...rest,
    messages: messages.slice(0, 3),
  });
  assert.deepEqual(visibleState(open), visibleState(openAfter(EVENTS)));
});
