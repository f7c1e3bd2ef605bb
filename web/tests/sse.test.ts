import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readSseEvents } from "../src/api/event-stream.ts";

const WIRE = 'id: 1\ndata: {"text":"Grüße 🙂"}\n\n: still here\n\nevent: resync\ndata: a\ndata: b\n\n';
const BYTES = new TextEncoder().encode(WIRE);

async function readEvents(...pieces: Uint8Array[]): Promise<(readonly string[])[]> {
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

test("any split of the bytes gives the same events, even inside a character", async () => {
  const places = fc.array(fc.integer({ min: 0, max: BYTES.length }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(places, async (cuts) => {
      const ends = [...cuts.sort((a, b) => a - b), BYTES.length];
      const pieces = ends.map((end, place) => BYTES.slice(place ? ends[place - 1] : 0, end));
      assert.deepEqual((await readEvents(...pieces)).flat(), ['{"text":"Grüße 🙂"}', "a\nb"]);
    }),
  );
});

test("an incomplete event gives an empty batch", async () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  assert.deepEqual(await readEvents(bytes("data: half"), bytes("\n\n")), [[], ["half"]]);
});

test("leaving the loop cancels the stream", async () => {
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
