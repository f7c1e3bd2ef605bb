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
const at = (words: string) => findOpenMention(words, words.length);

test("a mention begins with @ at the beginning of a word, and is what follows it", () => {
  assert.deepEqual(at("Ask @ad"), { from: 4, to: 7, query: "ad" });
  assert.deepEqual(at("@"), { from: 0, to: 1, query: "" });
  assert.deepEqual(at('See @"round ta'), { from: 4, to: 14, query: "round ta" });
});

test("an address, a finished mention and words after a space are none", () => {
  for (const words of ["ada@example", "@Ada said", '@"Tables" and', "no", "@a\nb"])
    assert.equal(at(words), null, words);
});

test("what is chosen takes the place of what was written, and the caret stands behind it", () => {
  const words = "Ask @ad why";
  const where = findOpenMention(words, 7);
  assert.ok(where);
  assert.deepEqual(insertMention(words, where, ADA), { words: "Ask @Ada why", caret: 9 });
  assert.deepEqual(insertMention(words, where, TABLES), { words: 'Ask @"Round tables" why', caret: 20 });
});

test("a title with quotation marks stays one title", () => {
  const where = at("@");
  assert.ok(where);
  assert.equal(insertMention("@", where, { ...TABLES, name: 'On "it"' }).words, `@"On 'it'" `);
});

test("participants come first, and what begins so before what contains it", () => {
  const adam: Mention = { ...TABLES, key: "dis_2", name: "Adam" };
  const nada: Mention = { ...ADA, key: "nada", name: "Nada" };
  assert.deepEqual(matchMentions([adam, TABLES, nada, ADA], "ad"), [ADA, nada, adam]);
});

test("who is named is found, but not within another word", () => {
  const table = [{ name: "Ada" }, { name: "Grace" }];
  assert.deepEqual(findMentioned("@ada, and @Gracefully", table), [{ name: "Ada" }]);
});

test("cut into pieces and put together again it is the same", () => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.string({ minLength: 1 })), (words, names) => {
      const cut = splitMentions(words, names);
      assert.equal(cut.map((piece) => piece.text).join(""), words);
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
