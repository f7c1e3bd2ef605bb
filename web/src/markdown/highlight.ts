/** Syntax highlighting for closed code fences. The highlighter is loaded with the first one. */

import { sanitizeCode } from "./render.ts";

/** Longer code stays plain, because highlighting it would block the page. */
const MAX_CODE_LENGTH = 30_000;

let languagesImport: Promise<typeof import("./languages.ts")> | null = null;

/** Highlight the code in a settled element. */
export async function highlightCode(element: Element): Promise<void> {
  const codes = [...element.querySelectorAll<HTMLElement>("code[data-language]")].filter(
    (code) => code.dataset.language !== "" && (code.textContent ?? "").length <= MAX_CODE_LENGTH,
  );
  if (codes.length === 0) return;
  const { highlightToHtml } = await (languagesImport ??= import("./languages.ts"));
  for (const code of codes) {
    const html = highlightToHtml(code.textContent ?? "", (code.dataset.language ?? "").toLowerCase());
    if (html !== null) code.replaceChildren(sanitizeCode(html));
  }
}
