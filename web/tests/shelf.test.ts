import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, foundWhere, shelve, withShelfPage } from "../src/state/shelf.ts";
import type { Discussion } from "../src/wire.ts";
import { DISCUSSION, live } from "./events.ts";

const one = (id: string, updated_at: number, status: Discussion["status"] = "active"): Discussion => ({
  ...DISCUSSION,
  id,
  updated_at,
  status,
});
const isActive = (discussion: Discussion) => discussion.status === "active";
const SHELF = withShelfPage(EMPTY, { discussions: [one("b", 2), one("a", 1)], next: "more" }, false);
const ids = (shelf: typeof SHELF) => shelf.discussions.map((discussion) => discussion.id);

test("what was spoken in last comes first", () => {
  const shelf = shelve(
    SHELF,
    { type: "discussion_changed", discussion: one("a", 3), runs: [live("r")] },
    isActive,
  );
  assert.deepEqual(ids(shelf), ["a", "b"]);
  assert.ok(shelf.speaking.has("a"));
});

test("what is archived goes, and what is new comes", () => {
  const archived = { type: "discussion_changed", discussion: one("a", 3, "archived"), runs: [] } as const;
  const opened = { type: "discussion_changed", discussion: one("c", 4), runs: [] } as const;
  assert.deepEqual(ids(shelve(SHELF, archived, isActive)), ["b"]);
  assert.deepEqual(ids(shelve(SHELF, opened, isActive)), ["c", "b", "a"]);
});

test("a further page is added once", () => {
  const shelf = withShelfPage(SHELF, { discussions: [one("a", 1), one("z", 0)], next: null }, true);
  assert.deepEqual(ids(shelf), ["b", "a", "z"]);
});

test("marks of speaking are all told anew after a break", () => {
  const speaking = shelve(SHELF, { type: "activity", runs: [live("r")] }, isActive);
  assert.deepEqual([...speaking.speaking], ["dis_1"]);
  assert.deepEqual([...shelve(speaking, { type: "activity", runs: [] }, isActive).speaking], []);
});

test("a search says where it found what the title does not show", () => {
  const found = (title: string, sought: string, status: Discussion["status"] = "active") =>
    foundWhere({ title, status }, sought);
  assert.equal(found("Round tables", "tab ROUND"), "");
  assert.equal(found("Round tables", "ables"), "in a message");
  assert.equal(found("Round tables", "round oak"), "in a message");
  assert.equal(found("Café-tables", "cafe"), "");
  assert.equal(found("Round tables", "oak", "archived"), "in a message · archived");
});
