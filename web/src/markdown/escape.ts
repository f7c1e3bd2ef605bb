/** Text as HTML: the only way by which what a model wrote gets into a string of HTML. */

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const NAMED_ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const BARE_AMPERSAND = /&(?!(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][a-zA-Z\d]{1,31});)/g;

/** Escape everything: for code, formulas and attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => ENTITIES[mark] ?? "").replaceAll("\0", "\ufffd");
}

/** Escape prose, in which &copy; stands for a character; a reference can never become a tag. */
export function escapeProse(text: string): string {
  const kept = text.replace(BARE_AMPERSAND, "&amp;");
  return kept.replace(/[<>"']/g, (mark) => ENTITIES[mark] ?? "").replaceAll("\0", "\ufffd");
}

/** Resolve the references that addresses are written with. */
export function unescapeHtml(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (whole, name: string) => NAMED_ENTITIES[name] ?? whole);
}
