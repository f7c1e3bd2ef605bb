/** `@` mentions: detection at the caret, candidates, and insertion into the text. */

export interface MentionQuery {
  /** Position of the `@`. */
  readonly from: number;
  /** End of the typed name. */
  readonly to: number;
  readonly query: string;
}

export interface Mention {
  readonly key: string;
  readonly kind: "participant" | "discussion";
  readonly name: string;
  readonly hint: string;
}

const MAX_MENTION_LENGTH = 60;
const MAX_MENTIONS = 8;

/** Find the mention at the caret, if any. */
export function findOpenMention(words: string, caret: number): MentionQuery | null {
  const before = words.slice(Math.max(0, caret - MAX_MENTION_LENGTH), caret);
  const found = /(?:^|[\s(])@("?)([^"@\n]*)$/.exec(before);
  if (!found) return null;
  const [, quote = "", sought = ""] = found;
  // Without a quotation mark, a second word ends the mention.
  if (!quote && /\s/.test(sought)) return null;
  return { from: caret - sought.length - quote.length - 1, to: caret, query: sought };
}

/** Replace the typed mention with the chosen one. Also returns the new caret position. */
export function insertMention(words: string, at: MentionQuery, mention: Mention): { words: string; caret: number } {
  const text = mention.kind === "participant" ? `@${mention.name} ` : `@"${escapeTitle(mention.name)}" `;
  const rest = words.slice(at.to).replace(/^" ?/, "").replace(/^ /, "");
  return { words: words.slice(0, at.from) + text + rest, caret: at.from + text.length };
}

/** Participants first, then discussions; prefix matches before other matches. */
export function matchMentions(all: readonly Mention[], query: string): readonly Mention[] {
  const wanted = foldCase(query);
  const rank = (one: Mention) => {
    const place = foldCase(one.name).indexOf(wanted);
    return place < 0 ? -1 : (one.kind === "participant" ? 0 : 2) + (place === 0 ? 0 : 1);
  };
  return all
    .map((one) => ({ one, rank: rank(one) }))
    .filter(({ rank }) => rank >= 0)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MAX_MENTIONS)
    .map(({ one }) => one);
}

/** Participants mentioned in a text. */
export function findMentioned<T extends { name: string }>(words: string, participants: readonly T[]): readonly T[] {
  const folded = foldCase(words);
  return participants.filter(({ name }) => {
    const place = folded.indexOf(`@${foldCase(name)}`);
    return place >= 0 && !/[\p{L}\p{N}]/u.test(folded[place + name.length + 1] ?? "");
  });
}

export type MessagePart = { readonly text: string; readonly isMention: boolean };

/** Split a text into mentions and other text. */
export function splitMentions(words: string, names: readonly string[]): readonly MessagePart[] {
  const known = [...names].sort((a, b) => b.length - a.length).map(escapeRegExp);
  const people = known.length ? `|@(?:${known.join("|")})(?![\\p{L}\\p{N}])` : "";
  const found = new RegExp(`(@"[^"\\n]{1,200}"${people})`, "iu");
  return words
    .split(found)
    .map((text, place) => ({ text, isMention: place % 2 === 1 }))
    .filter(({ text }) => text);
}

/** Remove characters from a title that would end the mention. */
function escapeTitle(title: string): string {
  return title.replaceAll('"', "'");
}

function foldCase(text: string): string {
  return text.toLocaleLowerCase();
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
