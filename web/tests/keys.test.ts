import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { listShortcuts, handleKeydown, registerShortcuts } from "../src/stores/shortcuts.ts";

/** As much of a browser as keys ask for. */
class Place {
  readonly tag: string;
  constructor(tag: string) {
    this.tag = tag;
  }
  closest(tags: string): Place | null {
    if (tags === ".composer") return this.tag === "textarea" ? this : null;
    return tags.split(", ").includes(this.tag) ? this : null;
  }
}

let dialog: Place | null = null;
let now = 0;
let acts: string[] = [];
let forget: () => void;
const act = (name: string) => () => void acts.push(name);

function press(key: string, { tag = "main", ...how }: { tag?: string } & Partial<KeyboardEvent> = {}): void {
  handleKeydown({
    key,
    target: new Place(tag),
    preventDefault: () => undefined,
    ...how,
  } as unknown as KeyboardEvent);
}

describe("keys", () => {
  beforeEach(() => {
    Object.assign(globalThis, { Element: Place, document: { querySelector: () => dialog } });
    mock.method(performance, "now", () => now);
    [acts, dialog, now] = [[], null, now + 10_000];
    forget = registerShortcuts(
      { keys: "/", words: "Search", act: act("search") },
      { keys: "G U", words: "Usage", act: act("usage") },
      { keys: "Alt+N", words: "New", act: act("new") },
      { keys: "Ctrl+K", words: "Find", act: act("find") },
      { keys: "Esc", words: "Stop", act: act("stop") },
      { keys: "Enter", words: "Send" },
    );
  });

  afterEach(() => {
    forget();
    mock.restoreAll();
    for (const name of ["Element", "document"]) Reflect.deleteProperty(globalThis, name);
  });

  test("keys are known by their names, also with others held", () => {
    press("/");
    press("n", { altKey: true });
    press("k", { metaKey: true });
    press("Escape");
    press("Enter");
    press("n");
    assert.deepEqual(acts, ["search", "new", "find", "stop"]);
  });

  test("with Alt a letter is known by its place where another character is written, and only there", () => {
    press("Dead", { altKey: true, code: "KeyN" });
    press("˜", { altKey: true, code: "KeyN" });
    press("b", { altKey: true, code: "KeyN" });
    press("n", { altKey: true, code: "KeyL" });
    assert.deepEqual(acts, ["new", "new", "new"]);
  });

  test("one key after the other counts, unless one waits too long", () => {
    press("g");
    now += 700;
    press("u");
    assert.deepEqual(acts, ["usage"]);
    press("g");
    now += 900;
    press("u");
    assert.deepEqual(acts, ["usage"]);
  });

  test("what is written into a field is no shortcut, but for those with Ctrl or Alt, and Esc in the composer", () => {
    for (const tag of ["input", "textarea", "select"]) press("/", { tag });
    press("k", { tag: "input", ctrlKey: true });
    press("k", { tag: "input", metaKey: true });
    press("n", { tag: "textarea", altKey: true });
    press("Escape", { tag: "input" });
    press("Escape", { tag: "textarea" });
    assert.deepEqual(acts, ["find", "find", "new", "stop"]);
  });

  test("an open dialog has the keys for itself, and so has whoever took them or is still composing", () => {
    press("/", { defaultPrevented: true });
    press("/", { isComposing: true });
    dialog = new Place("dialog");
    press("/");
    assert.deepEqual(acts, []);
  });

  test("the view that came last has the key, gives it back, and each is listed once", () => {
    const leave = registerShortcuts({ keys: "/", words: "Search here", act: act("here") });
    press("/");
    assert.deepEqual(
      listShortcuts()
        .filter((one) => one.keys === "/")
        .map((one) => one.words),
      ["Search here"],
    );
    leave();
    press("/");
    assert.deepEqual(acts, ["here", "search"]);
  });
});
