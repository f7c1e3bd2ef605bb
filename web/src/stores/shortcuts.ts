/** Keys that work everywhere on the page. The help sheet lists what is registered. */

export interface Shortcut {
  /** As it is shown, such as `Ctrl+K`, or `G P` for one key after the other. */
  keys: string;
  words: string;
  act?: () => void;
}

const shortcuts: Shortcut[] = [];
const APART = 800; // milliseconds between the keys of a sequence
let first = { key: "", at: 0 };

/** Register keys for as long as a view is there; without `act` they are only listed, and handled elsewhere. */
export function register(...some: Shortcut[]): () => void {
  shortcuts.push(...some);
  return () => {
    for (const one of some) shortcuts.splice(shortcuts.indexOf(one), 1);
  };
}

export function listed(): readonly Shortcut[] {
  return [...new Map(shortcuts.map((one) => [one.keys, one])).values()];
}

export function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const key = nameOf(event);
  const now = performance.now();
  const sequence = now - first.at < APART ? `${first.key} ${key}` : "";
  first = { key, at: now };
  const found = shortcuts.findLast((one) => one.act && (one.keys === key || one.keys === sequence));
  if (!found || isMeantForAnother(event, key)) return;
  event.preventDefault();
  found.act?.();
}

/** Tell whether what is open, or what one writes in, takes the key. In the composer Esc is meant for the table. */
function isMeantForAnother(event: KeyboardEvent, key: string): boolean {
  if (document.querySelector("dialog[open], :popover-open")) return true;
  const field = event.target instanceof Element ? event.target.closest("input, textarea, select") : null;
  if (!field) return false;
  return key === "Esc" ? field.closest(".composer") === null : !isHeld(event) && !event.altKey;
}

function nameOf(event: KeyboardEvent): string {
  const key = letterOf(event) ?? (event.key === "Escape" ? "Esc" : event.key);
  const held = [isHeld(event) ? "Ctrl" : "", event.altKey ? "Alt" : ""].filter(Boolean);
  return [...held, key.length === 1 ? key.toUpperCase() : key].join("+");
}

/** With Alt a Mac writes another character: the letter is then known by where it lies. */
function letterOf({ altKey, key, code }: KeyboardEvent): string | undefined {
  return altKey && !/^[a-z]$/i.test(key) ? /^Key([A-Z])$/.exec(code)?.[1] : undefined;
}

/** Cmd on a Mac is what Ctrl is elsewhere. */
const isHeld = (event: KeyboardEvent): boolean => event.ctrlKey || event.metaKey;
