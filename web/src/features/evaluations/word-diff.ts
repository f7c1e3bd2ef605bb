/** What was changed in a text, word by word: short texts that people wrote, such as a persona's description. */

export interface Change {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

const MOST = 4_000_000; // pairs of words that are compared; beyond that the text counts as new

/** Same and removed make the text before; same and added make the one after. */
export function changes(before: string, after: string): readonly Change[] {
  const old = words(before);
  const now = words(after);
  const head = common(old, now);
  const tail = common(old.slice(head).reverse(), now.slice(head).reverse());
  return joined([
    ...old.slice(0, head).map(same),
    ...between(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail).map(same),
  ]);
}

const same = (text: string): Change => ({ kind: "same", text });
const added = (text: string): Change => ({ kind: "added", text });
const removed = (text: string): Change => ({ kind: "removed", text });

/** A word and what is between words count alike, so that nothing is lost. */
function words(text: string): readonly string[] {
  return text.match(/\s+|[\p{L}\p{N}_'’-]+|[^\s\p{L}\p{N}_'’-]/gu) ?? [];
}

function common(some: readonly string[], others: readonly string[]): number {
  const most = Math.min(some.length, others.length);
  let length = 0;
  while (length < most && some[length] === others[length]) length++;
  return length;
}

/** Keep the longest sequence of words that both have. */
function between(old: readonly string[], now: readonly string[]): readonly Change[] {
  if (!old.length || !now.length || old.length * now.length > MOST) {
    return [...old.map(removed), ...now.map(added)];
  }
  const shared = sharedFrom(old, now);
  const width = now.length + 1;
  const found: Change[] = [];
  let [a, b] = [0, 0];
  while (a < old.length && b < now.length) {
    const [was, is] = [old[a] ?? "", now[b] ?? ""];
    if (was === is) {
      found.push(same(was));
      a++;
      b++;
    } else if ((shared[(a + 1) * width + b] ?? 0) >= (shared[a * width + b + 1] ?? 0)) {
      found.push(removed(was));
      a++;
    } else {
      found.push(added(is));
      b++;
    }
  }
  return [...found, ...old.slice(a).map(removed), ...now.slice(b).map(added)];
}

/** For every place in both: how many words they share from there on. */
function sharedFrom(old: readonly string[], now: readonly string[]): Uint32Array {
  const width = now.length + 1;
  const table = new Uint32Array((old.length + 1) * width);
  for (let a = old.length - 1; a >= 0; a--) {
    for (let b = now.length - 1; b >= 0; b--) {
      const below = table[(a + 1) * width + b] ?? 0;
      const beside = table[a * width + b + 1] ?? 0;
      table[a * width + b] =
        old[a] === now[b] ? (table[(a + 1) * width + b + 1] ?? 0) + 1 : Math.max(below, beside);
    }
  }
  return table;
}

/** Put neighbours of one kind together; what was removed stands before what was added in its place. */
function joined(all: readonly Change[]): readonly Change[] {
  const found: Change[] = [];
  let out = "";
  let into = "";
  const settle = () => {
    if (out) found.push(removed(out));
    if (into) found.push(added(into));
    out = into = "";
  };
  for (const { kind, text } of all) {
    if (kind === "removed") out += text;
    else if (kind === "added") into += text;
    else {
      settle();
      const last = found.at(-1);
      if (last?.kind === "same") found[found.length - 1] = same(last.text + text);
      else found.push(same(text));
    }
  }
  settle();
  return found;
}
