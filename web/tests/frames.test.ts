import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { frames } from "../src/transport/frames.ts";

const WIRE = 'id: 1\ndata: {"text":"Grüße 🙂"}\n\n: still here\n\nevent: resync\ndata: a\ndata: b\n\n';

test("any cut of the bytes gives the same events, also inside of a letter", () => {
  const bytes = new TextEncoder().encode(WIRE);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }), (cuts) => {
      const parser = frames();
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const heard = places.slice(1).flatMap((end, place) => parser.push(bytes.slice(places[place], end)));
      assert.deepEqual(heard, ['{"text":"Grüße 🙂"}', "a\nb"]);
    }),
  );
});

test("what is not whole yet is not told", () => {
  const parser = frames();
  assert.deepEqual(parser.push(new TextEncoder().encode("data: half")), []);
  assert.deepEqual(parser.push(new TextEncoder().encode("\n\n")), ["half"]);
});
