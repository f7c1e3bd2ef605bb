import assert from "node:assert/strict";
import { test } from "node:test";
import { headersOf } from "../src/features/models/headers.ts";

test("headers are written one a line, and values may have colons", () => {
  assert.deepEqual(headersOf("Authorization: Bearer a:b\n\n X-Key:1 "), {
    Authorization: "Bearer a:b",
    "X-Key": "1",
  });
  assert.deepEqual(headersOf(""), {});
});

test("a line that is no header is told, not left out", () => {
  assert.equal(headersOf("Bearer secret"), null);
  assert.equal(headersOf("A: b\nC:"), null);
});
