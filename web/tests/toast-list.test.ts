import assert from "node:assert/strict";
import { test } from "node:test";
import { addToast, removeViewToasts, type Toast } from "../src/state/toast-list.ts";

const summaries = (all: readonly Toast[]) => all.map((one) => `${one.words} ${one.times}`);

test("a repeated toast is counted and moves to the end, and at most three are shown", () => {
  let all: readonly Toast[] = [];
  for (const one of ["Copied.", "Archived.", "Copied."]) all = addToast(all, one, {});
  assert.deepEqual(summaries(all), ["Archived. 1", "Copied. 2"]);
  all = addToast(addToast(all, "Copied.", { isError: true }), "Deleted.", {});
  assert.deepEqual(summaries(all), ["Copied. 2", "Copied. 1", "Deleted. 1"]);
});

test("toasts of a view are removed with it", () => {
  const all = addToast(addToast([], "It left the table.", { isViewScoped: true }), "Copied.", {});
  assert.deepEqual(summaries(removeViewToasts(all)), ["Copied. 1"]);
});

test("undo of a counted toast undoes all, the last first", async () => {
  const undone: number[] = [];
  let all: readonly Toast[] = [];
  for (const one of [1, 2, 3]) all = addToast(all, "It left the table.", { undo: () => undone.push(one) });
  await all[0]?.undo?.();
  assert.deepEqual(undone, [3, 2, 1]);
  assert.equal(addToast([], "Copied.", {})[0]?.undo, undefined);
});

test("each undo waits for the one before", async () => {
  const steps: string[] = [];
  const slowly = (name: string) => async () => {
    steps.push(`${name} begins`);
    await new Promise((done) => setTimeout(done));
    steps.push(`${name} is done`);
  };
  let all: readonly Toast[] = [];
  for (const name of ["first", "second", "third"]) all = addToast(all, "Archived.", { undo: slowly(name) });
  await all[0]?.undo?.();
  const each = (name: string) => [`${name} begins`, `${name} is done`];
  assert.deepEqual(steps, ["third", "second", "first"].flatMap(each));
});
