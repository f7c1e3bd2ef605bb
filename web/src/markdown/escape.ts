/** HTML escaping: the only way for model text into an HTML string. */

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const NAMED_ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const BARE_AMPERSAND = /&(?!(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][a-zA-Z\d]{1,31});)/g;

/** Escape everything, for code, formulas and attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => ENTITIES[mark] ?? "").replaceAll("\0", "\ufffd");
}

/** Escape prose, where &copy; stands for a character. A character reference can never become a tag. */
export function escapeProse(text: string): string {
  const kept = text.replace(BARE_AMPERSAND, "&amp;");
  return kept.replace(/[<>"']/g, (mark) => ENTITIES[mark] ?? "").replaceAll("\0", "\ufffd");
}

/** Resolve the character references in URLs. */
export function unescapeHtml(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (whole, name: string) => NAMED_ENTITIES[name] ?? whole);
}
