import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY_LIST, applyListEvents, withFirstPage, withNextPage } from "../src/state/discussion-list.ts";
import type { Discussion, Run } from "../src/api/types.ts";
import { DISCUSSION, live } from "./events.ts";

const one = (id: string, updated_at: number, status: Discussion["status"] = "active"): Discussion => ({
  ...DISCUSSION,
  id,
  updated_at,
  status,
});
const ACTIVE = { q: "", status: "active" } as const;
const SEARCH = { q: "oak", status: "active" } as const;
const SHELF = withFirstPage(EMPTY_LIST, { discussions: [one("b", 2), one("a", 1)], next: "more", hits: [] });
const ids = (shelf: typeof SHELF) => shelf.discussions.map((discussion) => discussion.id);
const changed = (discussion: Discussion, ...runs: Run[]) =>
  ({ type: "discussion_changed", discussion, runs, awaiting_approval: [] as string[] }) as const;

test("what was spoken in last comes first", () => {
  const shelf = applyListEvents(SHELF, [changed(one("a", 3), live("r"))], ACTIVE);
  assert.deepEqual(ids(shelf), ["a", "b"]);
  assert.ok(shelf.activeIds.has("a"));
});

test("what is archived goes, and what is new comes", () => {
  assert.deepEqual(ids(applyListEvents(SHELF, [changed(one("a", 3, "archived"))], ACTIVE)), ["b"]);
  assert.deepEqual(ids(applyListEvents(SHELF, [changed(one("c", 4))], ACTIVE)), ["c", "b", "a"]);
});

test("what a search has found stays when somebody speaks in it, and nothing else comes", () => {
  const renamed = { ...one("a", 3, "archived"), title: "Oak" };
  const shelf = applyListEvents(
    SHELF,
    [changed(renamed, live("r")), changed(one("c", 4), live("s"))],
    SEARCH,
  );
  assert.deepEqual(ids(shelf), ["a", "b"]);
  assert.equal(shelf.discussions[0]?.title, "Oak");
  assert.deepEqual([...shelf.activeIds], ["a", "c"]);
  assert.deepEqual(ids(applyListEvents(shelf, [{ type: "discussion_deleted", id: "a" }], SEARCH)), ["b"]);
});

test("marks of speaking outlive another search", () => {
  const speaking = applyListEvents(SHELF, [changed(one("a", 3), live("r"))], ACTIVE);
  const found = withFirstPage(
    { ...speaking, discussions: [], next: null, hits: [] },
    { discussions: [], next: null, hits: [] },
  );
  assert.ok(found.activeIds.has("a"));
});

test("a further page is added once", () => {
  const shelf = withNextPage(SHELF, { discussions: [one("a", 1), one("z", 0)], next: null, hits: [] });
  assert.deepEqual(ids(shelf), ["b", "a", "z"]);
  assert.equal(shelf.next, null);
});

test("a first page that is read anew keeps what was read after it", () => {
  const long = withNextPage(SHELF, { discussions: [one("z", 0.5), one("y", 0.2)], next: "rest", hits: [] });
  const shelf = withFirstPage(long, {
    discussions: [one("z", 3), one("b", 2), one("a", 1)],
    next: "after a",
    hits: [],
  });
  assert.deepEqual(ids(shelf), ["z", "b", "a", "y"]);
  assert.equal(shelf.next, "rest");
});

test("where something may be missing between them it does not, nor where the first page is all", () => {
  const long = withNextPage(SHELF, { discussions: [one("z", 0.5)], next: null, hits: [] });
  const apart = withFirstPage(long, { discussions: [one("d", 9), one("c", 8)], next: "after c", hits: [] });
  assert.deepEqual([ids(apart), apart.next], [["d", "c"], "after c"]);
  const all = withFirstPage(long, { discussions: [one("b", 2), one("a", 1)], next: null, hits: [] });
  assert.deepEqual([ids(all), all.next], [["b", "a"], null]);
});

test("marks of speaking are all told anew after a break", () => {
  const speaking = applyListEvents(
    SHELF,
    [{ type: "activity", runs: [live("r")], awaiting_approval: [] }],
    ACTIVE,
  );
  assert.deepEqual([...speaking.activeIds], ["dis_1"]);
  assert.deepEqual(
    [...applyListEvents(speaking, [{ type: "activity", runs: [], awaiting_approval: [] }], ACTIVE).activeIds],
    [],
  );
});

test("who waits for a person is marked in every discussion, until it is answered or all is told anew", () => {
  const asked = { ...changed(one("a", 3), live("r")), awaiting_approval: ["r"] };
  const shelf = applyListEvents(SHELF, [asked, changed(one("b", 2), live("s"))], ACTIVE);
  assert.deepEqual([...shelf.awaitingApprovalIds], ["a"]);
  assert.deepEqual(
    [...applyListEvents(shelf, [changed(one("a", 3), live("r"))], ACTIVE).awaitingApprovalIds],
    [],
  );
  const [r, s] = [live("r"), { ...live("s"), discussion: "dis_2" }];
  const anew = applyListEvents(shelf, [{ type: "activity", runs: [r, s], awaiting_approval: ["s"] }], ACTIVE);
  assert.deepEqual([...anew.awaitingApprovalIds], ["dis_2"]);
});

test("what a search found is shown page by page, and once", () => {
  const hit = (discussion: string, message: string) => ({
    discussion,
    message,
    before: "of ",
    match: "oak",
    after: "",
  });
  const first = withFirstPage(EMPTY_LIST, {
    discussions: [one("b", 2), one("a", 1)],
    next: "more",
    hits: [hit("a", "m1")],
  });
  const both = withNextPage(first, {
    discussions: [one("a", 1), one("z", 0)],
    next: null,
    hits: [hit("a", "m1"), hit("z", "m2")],
  });
  assert.deepEqual(both.hits, [hit("a", "m1"), hit("z", "m2")]);
  const anew = withFirstPage(both, {
    discussions: [one("b", 2), one("a", 1)],
    next: "more",
    hits: [hit("a", "m3")],
  });
  assert.deepEqual(anew.hits, [hit("a", "m3"), hit("z", "m2")]);
});
