import assert from "node:assert/strict";
import { mock, test } from "node:test";
import {
  countKinds,
  pairInsights,
  severityTone,
  usefulnessLabel,
  parseWebUrl,
} from "../src/features/library/knowledge/knowledge.ts";
import { readAllPages } from "../src/api/paginate.ts";
import {
  copyName,
  toPersonaDraft,
  toPersonaForm,
  groupPersonas,
  parseLabels,
  searchPersonas,
  validatePersona,
} from "../src/features/library/personas/personas.ts";
import type { Insight, Persona } from "../src/api/types.ts";

const persona = (name: string, more: Partial<Persona> = {}): Persona => ({
  id: name,
  name,
  description: "",
  system_prompt: `You are ${name}.`,
  traits: [],
  specialisations: [],
  category: "role",
  colour: "",
  uses: 0,
  success_rate: null,
  level: 1,
  builtin: true,
  created_at: 0,
  ...more,
});
const insight = (id: string, more: Partial<Insight> = {}): Insight => ({
  id,
  discussion: "dis_1",
  project: null,
  kind: "pain_point",
  title: id,
  detail: "",
  category: "",
  suggestion: null,
  severity: null,
  answers_insight: null,
  messages: [],
  created_at: 0,
  ...more,
});

test("a search finds personas that contain every word", () => {
  const some = [persona("Ada", { traits: ["Blunt"] }), persona("Bo", { category: "thinker" })];
  const names = (search: string) => searchPersonas(some, search).map((one) => one.name);
  assert.deepEqual(names(""), ["Ada", "Bo"]);
  assert.deepEqual(names("blunt ada"), ["Ada"]);
  assert.deepEqual(names("thinker blunt"), []);
});

test("own personas come first, then the built-in ones by category", () => {
  const groups = groupPersonas([
    persona("Zoe"),
    persona("Own", { builtin: false, category: "role" }),
    persona("Amy"),
    persona("Kay", { category: "challenger" }),
    persona("Nil", { category: "" }),
  ]);
  assert.deepEqual(
    groups.map((group) => [group.title, group.personas.map((one) => one.name)]),
    [
      ["Your own", ["Own"]],
      ["Included with Moot", ["Nil", "Kay", "Amy", "Zoe"]],
    ],
  );
});

test("the editor form converts to a persona and back", () => {
  const ada = persona("Ada", { traits: ["blunt", "kind"], colour: "#112233" });
  const form = toPersonaForm(ada);
  assert.equal(form.traits, "blunt, kind");
  assert.deepEqual(toPersonaDraft(form).traits, ["blunt", "kind"]);
  assert.deepEqual(parseLabels(" a,, b , a "), ["a", "b"]);
  assert.equal(toPersonaDraft({ ...form, name: "  Ada " }).name, "Ada");
});

test("the form reports missing and invalid fields", () => {
  const form = toPersonaForm(persona("Ada"));
  assert.equal(validatePersona(form), "");
  assert.match(validatePersona({ ...form, name: " " }), /name/);
  assert.match(validatePersona({ ...form, system_prompt: "" }), /description or a system prompt/);
  assert.match(validatePersona({ ...form, traits: "x".repeat(61) }), /too long/);
});

test("a copy has a unique name within the length limit", () => {
  assert.equal(copyName("Ada", ["Ada"]), "Ada (copy)");
  assert.equal(copyName("Ada", ["Ada", "ada (COPY)"]), "Ada (copy 2)");
  assert.equal(copyName("x".repeat(60), []).length, 60);
});

test("an answer is listed under the insight that it answers", () => {
  const pain = insight("pain");
  const cure = insight("cure", { kind: "solution", answers_insight: "pain" });
  const [only, ...others] = pairInsights([cure, pain]);
  assert.equal(only?.insight, pain);
  assert.deepEqual(only?.answers, [cure]);
  assert.deepEqual(others, []);
});

test("an answer to a filtered insight refers to it", () => {
  const cure = insight("cure", { kind: "solution", answers_insight: "pain" });
  const [only] = pairInsights([insight("pain"), cure], "solution");
  assert.equal(only?.insight, cure);
  assert.equal(only?.answeredInsight?.id, "pain");
});

test("with chains and cycles of answers, each insight is listed once", () => {
  const some = [
    insight("a", { answers_insight: "b" }),
    insight("b", { answers_insight: "a" }),
    insight("c"),
    insight("d", { answers_insight: "c" }),
    insight("e", { answers_insight: "d" }),
    insight("f", { answers_insight: "gone" }),
  ];
  const ids = pairInsights(some).flatMap((one) => [one.insight.id, ...one.answers.map((answer) => answer.id)]);
  assert.deepEqual(ids.toSorted(), ["a", "b", "c", "d", "e", "f"]);
});

test("only kinds that occur are counted", () => {
  const some = [insight("a"), insight("b"), insight("c", { kind: "decision" })];
  assert.deepEqual(countKinds(some), [
    { kind: "pain_point", count: 2 },
    { kind: "decision", count: 1 },
  ]);
});

test("severity and usefulness have labels", () => {
  assert.equal(severityTone("blocker"), "bad");
  assert.equal(severityTone("medium"), "warn");
  assert.equal(severityTone(null), "");
  assert.equal(usefulnessLabel(0.9), "Very useful");
  assert.equal(usefulnessLabel(0), "Of little use");
});

test("only web addresses are links", () => {
  assert.equal(parseWebUrl(" https://example.org/x "), "https://example.org/x");
  assert.equal(parseWebUrl("javascript:alert(1)"), null);
  assert.equal(parseWebUrl("git@example.org:x"), null);
});

test("all pages of a list are read", async () => {
  const pages: Record<string, object> = {
    "/api/personas?q=a&limit=100": { personas: [persona("Ada"), persona("Ida")], next: "b" },
    "/api/personas?q=a&cursor=b&limit=100": { personas: [persona("Ben")], next: null },
  };
  const fetch = mock.method(globalThis, "fetch", (url: string) => Promise.resolve(Response.json(pages[url])));
  const all = await readAllPages("GET /api/personas", (page) => page.personas, { query: { q: "a" } });
  fetch.mock.restore();
  assert.deepEqual(
    all.map((one) => one.name),
    ["Ada", "Ida", "Ben"],
  );
});
