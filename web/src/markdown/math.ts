/**
 * Formulas, drawn by KaTeX, which is loaded with the first one; until then the source is shown.
 *
 * KaTeX places its parts by style attributes, which the content policy forbids in HTML. So they travel under another name
 * through the sanitiser, and are set one by one as the few properties that KaTeX needs.
 */

import { sanitizeFormula } from "./sanitize.ts";

type Katex = (typeof import("katex"))["default"];

const KATEX_OPTIONS = {
  output: "htmlAndMathml",
  trust: false,
  strict: "ignore",
  maxExpand: 200,
  maxSize: 20,
} as const;
/** Lengths in em and colours: all that KaTeX places and paints with. */
const LENGTH_PROPERTY =
  /^(?:(?:min-|max-)?(?:height|width)|vertical-align|top|left|(?:margin|padding)-(?:left|right|top|bottom)|border-(?:bottom|top|right|left)?-?width)$/;
const LENGTH_VALUE = /^(?:-?\d+(?:\.\d+)?(?:em|%)|calc\(100% [+-] \d+(?:\.\d+)?em\)|0)$/;
const COLOUR_PROPERTY = /^(?:background-|border-)?color$/;
const COLOUR_VALUE = /^(?:#[\da-f]{3,8}|[a-z]{1,30})$/i;
const MAX_KATEX_LENGTH = 4_000;
const MAX_CACHED_FORMULAS = 500;

let katex: Katex | null = null;
let katexImport: Promise<void> | null = null;
/** What formulas became, since the open end of an answer is drawn again and again; null is one that cannot be read. */
const formulaCache = new Map<string, DocumentFragment | null>();

/** Draw the formulas in an element; tell whether KaTeX has to be loaded for it. */
export function renderFormulas(element: Element): boolean {
  const formulas = element.querySelectorAll<HTMLElement>("[data-formula]:not(.drawn)");
  if (formulas.length > 0 && katex === null) return true;
  for (const formula of formulas) renderFormula(formula);
  return false;
}

export function loadKatex(): Promise<void> {
  katexImport ??= Promise.all([import("katex"), import("katex/dist/katex.min.css")]).then(([module]) => {
    katex = module.default;
  });
  return katexImport;
}

function renderFormula(formula: HTMLElement): void {
  const source = formula.textContent ?? "";
  const drawn = cachedFormula(source, formula.dataset.formula === "display");
  formula.classList.add("drawn");
  if (drawn === null) formula.classList.add("unread");
  else formula.replaceChildren(drawn.cloneNode(true));
}

function cachedFormula(source: string, displayMode: boolean): DocumentFragment | null {
  const key = `${displayMode} ${source}`;
  const found = formulaCache.get(key);
  if (found !== undefined) return found;
  const made = renderToFragment(source, displayMode);
  if (formulaCache.size >= MAX_CACHED_FORMULAS) formulaCache.delete(formulaCache.keys().next().value ?? "");
  formulaCache.set(key, made);
  return made;
}

function renderToFragment(source: string, displayMode: boolean): DocumentFragment | null {
  if (katex === null || source.length > MAX_KATEX_LENGTH) return null;
  try {
    const html = katex.renderToString(source, { ...KATEX_OPTIONS, displayMode });
    // No text of a formula has a quotation mark in it that is not escaped, so these are attributes.
    return applyStyles(sanitizeFormula(html.replaceAll(' style="', ' data-style="')));
  } catch {
    return null; // what is no TeX is shown as it was written
  }
}

function applyStyles(drawing: DocumentFragment): DocumentFragment {
  for (const element of drawing.querySelectorAll<HTMLElement>("[data-style]")) {
    for (const declaration of (element.dataset.style ?? "").split(";")) {
      const [name = "", value = ""] = declaration.split(":").map((part) => part.trim());
      const fits =
        (LENGTH_PROPERTY.test(name) && LENGTH_VALUE.test(value)) ||
        (COLOUR_PROPERTY.test(name) && COLOUR_VALUE.test(value));
      if (fits || (name === "position" && value === "relative")) element.style.setProperty(name, value);
    }
    element.removeAttribute("data-style");
  }
  return drawing;
}
