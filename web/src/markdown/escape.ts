/** Text as HTML: the only way by which what a model wrote gets into a string of HTML. */

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const NOT_A_REFERENCE = /&(?!(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][a-zA-Z\d]{1,31});)/g;

/** Escape everything: for code, formulas and attributes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => ENTITIES[mark] ?? "").replaceAll("\0", "\ufffd");
}

/** Escape prose, in which &copy; stands for a character; a reference can never become a tag. */
export function escapedProse(text: string): string {
  const kept = text.replace(NOT_A_REFERENCE, "&amp;");
  return kept.replace(/[<>"']/g, (mark) => ENTITIES[mark] ?? "").replaceAll("\0", "\ufffd");
}

/** Resolve the references that addresses are written with. */
export function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (whole, name: string) => NAMED[name] ?? whole);
}
