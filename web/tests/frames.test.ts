import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readSseEvents } from "../src/api/sse.ts";

const WIRE = 'id: 1\ndata: {"text":"Grüße 🙂"}\n\n: still here\n\nevent: resync\ndata: a\ndata: b\n\n';
const BYTES = new TextEncoder().encode(WIRE);

async function heard(...pieces: Uint8Array[]): Promise<(readonly string[])[]> {
  const body = new ReadableStream<Uint8Array>({
    start(control) {
      for (const piece of pieces) control.enqueue(piece);
      control.close();
    },
  });
  const all = [];
  for await (const some of readSseEvents(body)) all.push(some);
  return all;
}

test("any cut of the bytes gives the same events, also inside of a letter", async () => {
  const places = fc.array(fc.integer({ min: 0, max: BYTES.length }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(places, async (cuts) => {
      const ends = [...cuts.sort((a, b) => a - b), BYTES.length];
      const pieces = ends.map((end, place) => BYTES.slice(place ? ends[place - 1] : 0, end));
      assert.deepEqual((await heard(...pieces)).flat(), ['{"text":"Grüße 🙂"}', "a\nb"]);
    }),
  );
});

test("what is not whole yet is not told, but that something came is", async () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  assert.deepEqual(await heard(bytes("data: half"), bytes("\n\n")), [[], ["half"]]);
});

test("whoever leaves hangs up", async () => {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (control) => control.enqueue(BYTES),
    cancel: () => void (isCancelled = true),
  });
  for await (const some of readSseEvents(body)) {
    assert.equal(some.length, 2);
    break;
  }
  assert.equal(isCancelled, true);
});
