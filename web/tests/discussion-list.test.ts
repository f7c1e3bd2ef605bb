import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY_LIST, applyListEvents, withFirstPage, withNextPage } from "../src/state/discussion-list.ts";
import type { Discussion, Run } from "../src/api/types.ts";
import { DISCUSSION, liveRun } from "./events.ts";

const makeDiscussion = (id: string, updated_at: number, status: Discussion["status"] = "active"): Discussion => ({
  ...DISCUSSION,
  id,
  updated_at,
  status,
});
const ACTIVE = { q: "", status: "active" } as const;
const SEARCH = { q: "oak", status: "active" } as const;
const LIST = withFirstPage(EMPTY_LIST, {
  discussions: [makeDiscussion("b", 2), makeDiscussion("a", 1)],
  next: "more",
  hits: [],
});
const ids = (list: typeof LIST) => list.discussions.map((discussion) => discussion.id);
const changed = (discussion: Discussion, ...runs: Run[]) =>
  ({ type: "discussion_changed", discussion, runs, awaiting_approval: [] as string[] }) as const;

test("the most recently changed discussion comes first", () => {
  const list = applyListEvents(LIST, [changed(makeDiscussion("a", 3), liveRun("r"))], ACTIVE);
  assert.deepEqual(ids(list), ["a", "b"]);
  assert.ok(list.activeIds.has("a"));
});

test("archived discussions disappear, and new ones appear", () => {
  assert.deepEqual(ids(applyListEvents(LIST, [changed(makeDiscussion("a", 3, "archived"))], ACTIVE)), ["b"]);
  assert.deepEqual(ids(applyListEvents(LIST, [changed(makeDiscussion("c", 4))], ACTIVE)), ["c", "b", "a"]);
});

test("search results stay when they change, and no others are added", () => {
  const renamed = { ...makeDiscussion("a", 3, "archived"), title: "Oak" };
  const list = applyListEvents(
    LIST,
    [changed(renamed, liveRun("r")), changed(makeDiscussion("c", 4), liveRun("s"))],
    SEARCH,
  );
  assert.deepEqual(ids(list), ["a", "b"]);
  assert.equal(list.discussions[0]?.title, "Oak");
  assert.deepEqual([...list.activeIds], ["a", "c"]);
  assert.deepEqual(ids(applyListEvents(list, [{ type: "discussion_deleted", id: "a" }], SEARCH)), ["b"]);
});

test("active marks survive a new search", () => {
  const speaking = applyListEvents(LIST, [changed(makeDiscussion("a", 3), liveRun("r"))], ACTIVE);
  const found = withFirstPage(
    { ...speaking, discussions: [], next: null, hits: [] },
    { discussions: [], next: null, hits: [] },
  );
  assert.ok(found.activeIds.has("a"));
});

test("a page that repeats a discussion adds it once", () => {
  const list = withNextPage(LIST, {
    discussions: [makeDiscussion("a", 1), makeDiscussion("z", 0)],
    next: null,
    hits: [],
  });
  assert.deepEqual(ids(list), ["b", "a", "z"]);
  assert.equal(list.next, null);
});

test("a reloaded first page keeps the later pages", () => {
  const long = withNextPage(LIST, {
    discussions: [makeDiscussion("z", 0.5), makeDiscussion("y", 0.2)],
    next: "rest",
    hits: [],
  });
  const list = withFirstPage(long, {
    discussions: [makeDiscussion("z", 3), makeDiscussion("b", 2), makeDiscussion("a", 1)],
    next: "after a",
    hits: [],
  });
  assert.deepEqual(ids(list), ["z", "b", "a", "y"]);
  assert.equal(list.next, "rest");
});

test("a reloaded first page drops later pages if there may be a gap, or if it is the only page", () => {
  const long = withNextPage(LIST, { discussions: [makeDiscussion("z", 0.5)], next: null, hits: [] });
  const apart = withFirstPage(long, {
    discussions: [makeDiscussion("d", 9), makeDiscussion("c", 8)],
    next: "after c",
    hits: [],
  });
  assert.deepEqual([ids(apart), apart.next], [["d", "c"], "after c"]);
  const all = withFirstPage(long, {
    discussions: [makeDiscussion("b", 2), makeDiscussion("a", 1)],
    next: null,
    hits: [],
  });
  assert.deepEqual([ids(all), all.next], [["b", "a"], null]);
});

test("an activity event replaces all active marks", () => {
  const speaking = applyListEvents(LIST, [{ type: "activity", runs: [liveRun("r")], awaiting_approval: [] }], ACTIVE);
  assert.deepEqual([...speaking.activeIds], ["dis_1"]);
  assert.deepEqual(
    [...applyListEvents(speaking, [{ type: "activity", runs: [], awaiting_approval: [] }], ACTIVE).activeIds],
    [],
  );
});

test("a discussion is marked while one of its runs awaits approval", () => {
  const awaiting = { ...changed(makeDiscussion("a", 3), liveRun("r")), awaiting_approval: ["r"] };
  const list = applyListEvents(LIST, [awaiting, changed(makeDiscussion("b", 2), liveRun("s"))], ACTIVE);
  assert.deepEqual([...list.awaitingApprovalIds], ["a"]);
  assert.deepEqual(
    [...applyListEvents(list, [changed(makeDiscussion("a", 3), liveRun("r"))], ACTIVE).awaitingApprovalIds],
    [],
  );
  const [r, s] = [liveRun("r"), { ...liveRun("s"), discussion: "dis_2" }];
  const updated = applyListEvents(list, [{ type: "activity", runs: [r, s], awaiting_approval: ["s"] }], ACTIVE);
  assert.deepEqual([...updated.awaitingApprovalIds], ["dis_2"]);
});

test("search hits of several pages are listed once", () => {
  const hit = (discussion: string, message: string) => ({
    discussion,
    message,
    before: "of ",
    match: "oak",
    after: "",
  });
  const first = withFirstPage(EMPTY_LIST, {
    discussions: [makeDiscussion("b", 2), makeDiscussion("a", 1)],
    next: "more",
    hits: [hit("a", "m1")],
  });
  const both = withNextPage(first, {
    discussions: [makeDiscussion("a", 1), makeDiscussion("z", 0)],
    next: null,
    hits: [hit("a", "m1"), hit("z", "m2")],
  });
  assert.deepEqual(both.hits, [hit("a", "m1"), hit("z", "m2")]);
  const reloaded = withFirstPage(both, {
    discussions: [makeDiscussion("b", 2), makeDiscussion("a", 1)],
    next: "more",
    hits: [hit("a", "m3")],
  });
  assert.deepEqual(reloaded.hits, [hit("a", "m3"), hit("z", "m2")]);
});
