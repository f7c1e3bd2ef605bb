import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { listShortcuts, handleKeydown, registerShortcuts } from "../src/stores/shortcuts.ts";

/** The part of a DOM element that shortcuts use. */
class FakeElement {
  readonly tag: string;
  constructor(tag: string) {
    this.tag = tag;
  }
  closest(tags: string): FakeElement | null {
    if (tags === ".composer") return this.tag === "textarea" ? this : null;
    return tags.split(", ").includes(this.tag) ? this : null;
  }
}

let dialog: FakeElement | null = null;
let now = 0;
let acts: string[] = [];
let unregister: () => void;
const act = (name: string) => () => void acts.push(name);

function press(key: string, { tag = "main", ...init }: { tag?: string } & Partial<KeyboardEvent> = {}): void {
  handleKeydown({
    key,
    target: new FakeElement(tag),
    preventDefault: () => undefined,
    ...init,
  } as unknown as KeyboardEvent);
}

describe("shortcuts", () => {
  beforeEach(() => {
    Object.assign(globalThis, { Element: FakeElement, document: { querySelector: () => dialog } });
    mock.method(performance, "now", () => now);
    [acts, dialog, now] = [[], null, now + 10_000];
    unregister = registerShortcuts(
      { keys: "/", words: "Search", act: act("search") },
      { keys: "G U", words: "Usage", act: act("usage") },
      { keys: "Alt+N", words: "New", act: act("new") },
      { keys: "Ctrl+K", words: "Find", act: act("find") },
      { keys: "Esc", words: "Stop", act: act("stop") },
      { keys: "Enter", words: "Send" },
    );
  });

  afterEach(() => {
    unregister();
    mock.restoreAll();
    for (const name of ["Element", "document"]) Reflect.deleteProperty(globalThis, name);
  });

  test("keys match by name, alone and with modifiers", () => {
    press("/");
    press("n", { altKey: true });
    press("k", { metaKey: true });
    press("Escape");
    press("Enter");
    press("n");
    assert.deepEqual(acts, ["search", "new", "find", "stop"]);
  });

  test("with Alt, a key that types another character matches by its position", () => {
    press("Dead", { altKey: true, code: "KeyN" });
    press("˜", { altKey: true, code: "KeyN" });
    press("b", { altKey: true, code: "KeyN" });
    press("n", { altKey: true, code: "KeyL" });
    assert.deepEqual(acts, ["new", "new", "new"]);
  });

  test("a sequence of two keys matches only without a long pause", () => {
    press("g");
    now += 700;
    press("u");
    assert.deepEqual(acts, ["usage"]);
    press("g");
    now += 900;
    press("u");
    assert.deepEqual(acts, ["usage"]);
  });

  test("in a field, only shortcuts with Ctrl or Alt work, and Esc in the composer", () => {
    for (const tag of ["input", "textarea", "select"]) press("/", { tag });
    press("k", { tag: "input", ctrlKey: true });
    press("k", { tag: "input", metaKey: true });
    press("n", { tag: "textarea", altKey: true });
    press("Escape", { tag: "input" });
    press("Escape", { tag: "textarea" });
    assert.deepEqual(acts, ["find", "find", "new", "stop"]);
  });

  test("no shortcut works in an open dialog, during text composition, or after another handler", () => {
    press("/", { defaultPrevented: true });
    press("/", { isComposing: true });
    dialog = new FakeElement("dialog");
    press("/");
    assert.deepEqual(acts, []);
  });

  test("the view that registered last gets a key until it unregisters, and each key is listed once", () => {
    const leave = registerShortcuts({ keys: "/", words: "Search this view", act: act("search view") });
    press("/");
    assert.deepEqual(
      listShortcuts()
        .filter((one) => one.keys === "/")
        .map((one) => one.words),
      ["Search this view"],
    );
    leave();
    press("/");
    assert.deepEqual(acts, ["search view", "search"]);
  });
});
