/** Colours for code whose fence is closed; the highlighter is loaded with the first of it. */

import { sanitisedCode } from "./sanitize.ts";

/** Longer code stays plain: highlighting it would hold up the page. */
const LONGEST = 30_000;

let loading: Promise<typeof import("./languages.ts")> | null = null;

/** Highlight the code in an element that does not change any more. */
export async function highlight(element: Element): Promise<void> {
  const codes = [...element.querySelectorAll<HTMLElement>("code[data-language]")].filter(
    (code) => code.dataset.language !== "" && (code.textContent ?? "").length <= LONGEST,
  );
  if (codes.length === 0) return;
  const { highlighted } = await (loading ??= import("./languages.ts"));
  for (const code of codes) {
    const html = highlighted(code.textContent ?? "", (code.dataset.language ?? "").toLowerCase());
    if (html !== null) code.replaceChildren(sanitisedCode(html));
  }
}
