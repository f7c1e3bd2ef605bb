/** Global keyboard shortcuts. The help dialog lists the registered ones. */

export interface Shortcut {
  /** As displayed, such as `Ctrl+K`, or `G P` for a sequence. */
  keys: string;
  words: string;
  act?: () => void;
}

const shortcuts: Shortcut[] = [];
const SEQUENCE_TIMEOUT_MS = 800; // milliseconds between the keys of a sequence
let lastKey = { key: "", at: 0 };

/** Register shortcuts for the lifetime of a view. Without `act` they are only listed. */
export function registerShortcuts(...some: Shortcut[]): () => void {
  shortcuts.push(...some);
  return () => {
    for (const one of some) shortcuts.splice(shortcuts.indexOf(one), 1);
  };
}

export function listShortcuts(): readonly Shortcut[] {
  return [...new Map(shortcuts.map((one) => [one.keys, one])).values()];
}

export function handleKeydown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const key = keyName(event);
  const now = performance.now();
  const sequence = now - lastKey.at < SEQUENCE_TIMEOUT_MS ? `${lastKey.key} ${key}` : "";
  lastKey = { key, at: now };
  const found = shortcuts.findLast((one) => one.act && (one.keys === key || one.keys === sequence));
  if (!found || isHandledElsewhere(event, key)) return;
  event.preventDefault();
  found.act?.();
}

/** Return whether a dialog or text field handles the key. In the composer, Esc stops the participants. */
function isHandledElsewhere(event: KeyboardEvent, key: string): boolean {
  if (document.querySelector("dialog[open], :popover-open")) return true;
  const field = event.target instanceof Element ? event.target.closest("input, textarea, select") : null;
  if (!field) return false;
  return key === "Esc" ? field.closest(".composer") === null : !hasCtrlOrCmd(event) && !event.altKey;
}

function keyName(event: KeyboardEvent): string {
  const key = altLetter(event) ?? (event.key === "Escape" ? "Esc" : event.key);
  const held = [hasCtrlOrCmd(event) ? "Ctrl" : "", event.altKey ? "Alt" : ""].filter(Boolean);
  return [...held, key.length === 1 ? key.toUpperCase() : key].join("+");
}

/** With Alt, a Mac produces another character. Use the physical key then. */
function altLetter({ altKey, key, code }: KeyboardEvent): string | undefined {
  return altKey && !/^[a-z]$/i.test(key) ? /^Key([A-Z])$/.exec(code)?.[1] : undefined;
}

/** Cmd on a Mac counts as Ctrl. */
const hasCtrlOrCmd = (event: KeyboardEvent): boolean => event.ctrlKey || event.metaKey;
