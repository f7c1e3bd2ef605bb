import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkAttachments,
  formatBytes,
  MAX_FILE_BYTES,
  MAX_ATTACHMENTS,
  rejectionReason,
} from "../src/state/attachment-checks.ts";
import { HISTORY_START, messageHistory, stepHistory } from "../src/features/composer/history.ts";
import { describeSendError } from "../src/features/composer/send-errors.ts";

test("the history goes back through sent messages, and forward to the draft", () => {
  const history = messageHistory(["First", "Again", "First", "Last"]);
  assert.deepEqual(history, ["Last", "First", "Again"]);
  const once = stepHistory(HISTORY_START, 1, history, "draft");
  const twice = stepHistory(once?.history ?? HISTORY_START, 1, history, once?.words ?? "");
  assert.equal(twice?.words, "First");
  const back = stepHistory(twice?.history ?? HISTORY_START, -1, history, "First");
  assert.equal(stepHistory(back?.history ?? HISTORY_START, -1, history, "Last")?.words, "draft");
});

test("the history ends at its oldest message and at the draft", () => {
  assert.equal(stepHistory(HISTORY_START, -1, ["One"], "draft"), null);
  assert.equal(stepHistory({ stepsBack: 1, draft: "" }, 1, ["One"], "One"), null);
});

const file = (name: string, type: string, size = 10) => ({ name, type, size });

test("text, images and PDF may be attached", () => {
  for (const type of ["", "text/markdown", "application/json", "image/png", "application/pdf"])
    assert.equal(rejectionReason(file("it", type)), null, type);
});

test("a rejected file has a reason", () => {
  assert.match(rejectionReason(file("a.mp4", "video/mp4")) ?? "", /a\.mp4: Unsupported file type/);
  assert.match(rejectionReason(file("a.svg", "image/svg+xml")) ?? "", /Unsupported file type/);
  assert.match(rejectionReason(file("a.txt", "text/plain", 0)) ?? "", /empty/);
  assert.equal(
    rejectionReason(file("a.txt", "text/plain", MAX_FILE_BYTES + 1024 * 1024)),
    "a.txt has 21 MB. The maximum is 20 MB.",
  );
});

test("files above the limit are rejected", () => {
  const many = Array.from({ length: 4 }, (_, place) => file(`${place}.txt`, "text/plain"));
  const { files, objections } = checkAttachments([...many, file("a.zip", "application/zip")], MAX_ATTACHMENTS - 2);
  assert.equal(files.length, 2);
  assert.equal(objections.length, 2);
});

test("file sizes are formatted in B, kB and MB", () => {
  assert.deepEqual([900, 2048, 1.5 * 1024 * 1024].map(formatBytes), ["900 B", "2 kB", "1.5 MB"]);
});

test("a send error has a link to its solution, and says whether the server rejected the message", () => {
  assert.equal(describeSendError({ status: 402, message: "Over." }).link?.path, "/usage");
  assert.equal(describeSendError({ status: 400, message: "No key for openai." }).link?.path, "/models");
  assert.equal(
    describeSendError({ status: 400, message: "files[0]: Ida takes no images." }).words,
    "Ida takes no images.",
  );
  assert.match(describeSendError({ status: 413, message: "Large." }).words, /Shorten it/);
  assert.match(describeSendError({ status: 429, message: "Try again in 3 s." }).words, /kept/);
  assert.equal(describeSendError({ status: 429, message: "" }).isRejected, true);
  assert.equal(describeSendError({ status: 0, message: "No connection." }).isRejected, false);
});
