import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  matchMentions,
  insertMention,
  findMentioned,
  splitMentions,
  findOpenMention,
  type Mention,
} from "../src/features/composer/mentions.ts";

const ADA: Mention = { key: "ada", kind: "participant", name: "Ada", hint: "" };
const TABLES: Mention = { key: "dis_1", kind: "discussion", name: "Round tables", hint: "" };
const openMention = (words: string) => findOpenMention(words, words.length);

test("a mention starts with @ at the start of a word", () => {
  assert.deepEqual(openMention("Ask @ad"), { from: 4, to: 7, query: "ad" });
  assert.deepEqual(openMention("@"), { from: 0, to: 1, query: "" });
  assert.deepEqual(openMention('See @"round ta'), { from: 4, to: 14, query: "round ta" });
});

test("a mail address and a finished mention are not open mentions", () => {
  for (const words of ["ada@example", "@Ada said", '@"Tables" and', "no", "@a\nb"])
    assert.equal(openMention(words), null, words);
});

test("the chosen mention replaces the typed text, and the caret moves behind it", () => {
  const words = "Ask @ad why";
  const where = findOpenMention(words, 7);
  assert.ok(where);
  assert.deepEqual(insertMention(words, where, ADA), { words: "Ask @Ada why", caret: 9 });
  assert.deepEqual(insertMention(words, where, TABLES), { words: 'Ask @"Round tables" why', caret: 20 });
});

test("quotation marks in a title are replaced", () => {
  const where = openMention("@");
  assert.ok(where);
  assert.equal(insertMention("@", where, { ...TABLES, name: 'On "it"' }).words, `@"On 'it'" `);
});

test("participants come first, and names that start with the query before names that contain it", () => {
  const adam: Mention = { ...TABLES, key: "dis_2", name: "Adam" };
  const nada: Mention = { ...ADA, key: "nada", name: "Nada" };
  assert.deepEqual(matchMentions([adam, TABLES, nada, ADA], "ad"), [ADA, nada, adam]);
});

test("mentioned participants are found, but not inside a longer word", () => {
  const table = [{ name: "Ada" }, { name: "Grace" }];
  assert.deepEqual(findMentioned("@ada, and @Gracefully", table), [{ name: "Ada" }]);
});

test("the parts of a split text add up to the text", () => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.string({ minLength: 1 })), (words, names) => {
      const parts = splitMentions(words, names);
      assert.equal(parts.map((part) => part.text).join(""), words);
    }),
  );
  assert.deepEqual(
    splitMentions('@Ada: see @"Tables".', ["Ada"]).filter((one) => one.isMention),
    [
      { text: "@Ada", isMention: true },
      { text: '@"Tables"', isMention: true },
    ],
  );
});
