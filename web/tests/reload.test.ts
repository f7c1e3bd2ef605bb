import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  applyEvents,
  emptyDiscussion,
  withOlderPage,
  withPage,
  type OpenDiscussion,
} from "../src/state/discussion.ts";
import { turnNotices } from "../src/state/notices.ts";
import type { DiscussionDetail, Event, Message } from "../src/api/types.ts";
import { ended, message, numbered, page, started } from "./events.ts";
import { ends, speaks, tells } from "./debates.ts";

const RUN = "run_1";
const summarized = {
  type: "reference_summarized",
  message: "msg_0",
  title: "Chairs",
  discussion: "dis_2",
  summary: "sum_1",
};
const cut = (who: string, at: string) => ({ ...ends(who, at), finish_reason: "length" });

/** A run in which much is told beside words, and as much about the first turn of somebody as about its second. */
const HEARD = numbered(
  RUN,
  started,
  summarized,
  speaks("alpha", "initial"),
  speaks("beta", "initial"),
  tells("fallback", "Another model is asked.", "alpha"),
  speaks("alpha", "initial"),
  tells("retry", "Tried again.", "beta"),
  ends("alpha", "initial"),
  cut("beta", "initial"),
  tells("agreed", "They agree."),
  speaks("alpha", "debate"),
  tells("missing", "There is no list of claims."),
  cut("alpha", "debate"),
  speaks("beta", "debate"),
  tells("fallback", "Another model is asked.", "beta"),
  speaks("beta", "debate"),
  ends("beta", "debate", "stopped"),
  ended(),
);

/** What the server gives of it: a message for each turn that ended, and what was told beside them. */
function read(): DiscussionDetail {
  const asked = message("msg_0", RUN, null, "Which?", 0);
  const answers = HEARD.flatMap((event): Message[] =>
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
  const notices = HEARD.filter((event) => event.type === "notice" || event.type === "reference_summarized");
  return { ...page([asked, ...answers]), notices };
}

/** All that is shown of a run. */
function shown(open: OpenDiscussion) {
  const [run] = open.runs;
  assert.ok(run);
  return {
    asked: run.userMessage?.id,
    summaries: run.referenceSummaries.map((one) => one.title),
    notices: run.notices.map((one) => [one.seq, one.message]),
    turns: run.turns
      .map((turn) => ({
        key: turn.key,
        text: turn.text,
        state: turn.state,
        finish: turn.finish,
        remarks: turnNotices(run, turn).map((one) => one.message),
      }))
      .sort((a, b) => a.key.localeCompare(b.key)),
  };
}

const heard = (events: readonly Event[]) =>
  applyEvents(withPage(emptyDiscussion("dis_1"), page([read().messages[0]!])), events);

test("after a reload the same is shown as was heard", () => {
  const live = shown(heard(HEARD));
  assert.deepEqual(shown(withPage(emptyDiscussion("dis_1"), read())), live);
  assert.deepEqual(
    live.turns.map((turn) => [turn.key, turn.finish, turn.remarks.length]),
    [
      ["debate/0/alpha", "length", 0],
      ["debate/0/beta", "stop", 1],
      ["initial/0/alpha", "stop", 1],
      ["initial/0/beta", "length", 0],
    ],
  );
});

test("whenever it is read, and whatever of it was heard before, nothing is there twice", () => {
  const live = shown(heard(HEARD));
  fc.assert(
    fc.property(fc.integer({ min: 0, max: HEARD.length }), (place) => {
      const open = withPage(heard(HEARD.slice(0, place)), { ...read(), messages: [] });
      assert.deepEqual(shown(withPage(applyEvents(open, HEARD.slice(place)), read())), live);
    }),
  );
});

test("a run on two pages has what was told in it once", () => {
  const { messages, ...rest } = read();
  const newest = { ...rest, messages: messages.slice(3), before: 3 };
  const open = withOlderPage(withPage(emptyDiscussion("dis_1"), newest), {
    ...rest,
    messages: messages.slice(0, 3),
  });
  assert.deepEqual(shown(open), shown(heard(HEARD)));
});
