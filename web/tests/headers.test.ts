import assert from "node:assert/strict";
import { test } from "node:test";
import { parseHeaders } from "../src/features/models/headers.ts";

test("each line is one header, and values may contain colons", () => {
  assert.deepEqual(parseHeaders("Authorization: Bearer a:b\n\n X-Key:1 "), {
    Authorization: "Bearer a:b",
    "X-Key": "1",
  });
  assert.deepEqual(parseHeaders(""), {});
});

test("a line that is not a header makes the text invalid", () => {
  assert.equal(parseHeaders("Bearer secret"), null);
  assert.equal(parseHeaders("A: b\nC:"), null);
});
