import assert from "node:assert/strict";
import { test } from "node:test";
import { addToast, removeViewToasts, type Toast } from "../src/state/toast-list.ts";

const words = (all: readonly Toast[]) => all.map((one) => `${one.words} ${one.times}`);

test("what is said again counts up and comes last, and three are shown at most", () => {
  let all: readonly Toast[] = [];
  for (const one of ["Copied.", "Archived.", "Copied."]) all = addToast(all, one, {});
  assert.deepEqual(words(all), ["Archived. 1", "Copied. 2"]);
  all = addToast(addToast(all, "Copied.", { isError: true }), "Deleted.", {});
  assert.deepEqual(words(all), ["Copied. 2", "Copied. 1", "Deleted. 1"]);
});

test("what is about a view alone ends with it", () => {
  const all = addToast(addToast([], "It left the table.", { isViewScoped: true }), "Copied.", {});
  assert.deepEqual(words(removeViewToasts(all)), ["Copied. 1"]);
});

test("one undo takes back all that was said in one, the last first", async () => {
  const undone: number[] = [];
  let all: readonly Toast[] = [];
  for (const one of [1, 2, 3]) all = addToast(all, "It left the table.", { undo: () => undone.push(one) });
  await all[0]?.undo?.();
  assert.deepEqual(undone, [3, 2, 1]);
  assert.equal(addToast([], "Copied.", {})[0]?.undo, undefined);
});

test("what takes long to be undone is awaited before the next is", async () => {
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
