/** Word diff of short texts, such as a persona's description. */

export interface TextChange {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

const MAX_WORD_PAIRS = 4_000_000; // compared word pairs; beyond that, the whole text counts as changed

/** Same and removed parts form the old text; same and added parts the new one. */
export function diffWords(before: string, after: string): readonly TextChange[] {
  const old = splitWords(before);
  const now = splitWords(after);
  const head = commonPrefixLength(old, now);
  const tail = commonPrefixLength(old.slice(head).reverse(), now.slice(head).reverse());
  return mergeChanges([
    ...old.slice(0, head).map(samePart),
    ...diffMiddle(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail).map(samePart),
  ]);
}

const samePart = (text: string): TextChange => ({ kind: "same", text });
const addedPart = (text: string): TextChange => ({ kind: "added", text });
const removedPart = (text: string): TextChange => ({ kind: "removed", text });

/** Split into words, whitespace and punctuation, without losses. */
function splitWords(text: string): readonly string[] {
  return text.match(/\s+|[\p{L}\p{N}_'’-]+|[^\s\p{L}\p{N}_'’-]/gu) ?? [];
}

function commonPrefixLength(some: readonly string[], others: readonly string[]): number {
  const most = Math.min(some.length, others.length);
  let length = 0;
  while (length < most && some[length] === others[length]) length++;
  return length;
}

/** Longest common subsequence of words. */
function diffMiddle(old: readonly string[], now: readonly string[]): readonly TextChange[] {
  if (!old.length || !now.length || old.length * now.length > MAX_WORD_PAIRS) {
    return [...old.map(removedPart), ...now.map(addedPart)];
  }
  const shared = sharedLengths(old, now);
  const width = now.length + 1;
  const found: TextChange[] = [];
  let [a, b] = [0, 0];
  while (a < old.length && b < now.length) {
    const [was, is] = [old[a] ?? "", now[b] ?? ""];
    if (was === is) {
      found.push(samePart(was));
      a++;
      b++;
    } else if ((shared[(a + 1) * width + b] ?? 0) >= (shared[a * width + b + 1] ?? 0)) {
      found.push(removedPart(was));
      a++;
    } else {
      found.push(addedPart(is));
      b++;
    }
  }
  return [...found, ...old.slice(a).map(removedPart), ...now.slice(b).map(addedPart)];
}

/** For every pair of positions: the length of the common subsequence from there on. */
function sharedLengths(old: readonly string[], now: readonly string[]): Uint32Array {
  const width = now.length + 1;
  const table = new Uint32Array((old.length + 1) * width);
  for (let a = old.length - 1; a >= 0; a--) {
    for (let b = now.length - 1; b >= 0; b--) {
      const below = table[(a + 1) * width + b] ?? 0;
      const beside = table[a * width + b + 1] ?? 0;
      table[a * width + b] = old[a] === now[b] ? (table[(a + 1) * width + b + 1] ?? 0) + 1 : Math.max(below, beside);
    }
  }
  return table;
}

/** Merge neighbours of one kind. Removed parts come before added ones. */
function mergeChanges(all: readonly TextChange[]): readonly TextChange[] {
  const found: TextChange[] = [];
  let out = "";
  let into = "";
  const settle = () => {
    if (out) found.push(removedPart(out));
    if (into) found.push(addedPart(into));
    out = into = "";
  };
  for (const { kind, text } of all) {
    if (kind === "removed") out += text;
    else if (kind === "added") into += text;
    else {
      settle();
      const last = found.at(-1);
      if (last?.kind === "same") found[found.length - 1] = samePart(last.text + text);
      else found.push(samePart(text));
    }
  }
  settle();
  return found;
}
