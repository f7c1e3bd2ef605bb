/**
 * Formulas, rendered by KaTeX, which is loaded with the first one. Until then the source is shown.
 *
 * KaTeX positions its parts by style attributes, which the content security policy forbids in HTML. They pass the
 * sanitiser under another name, and are then set one by one as the few properties that KaTeX needs.
 */

import { sanitizeFormula } from "./render.ts";

type Katex = (typeof import("katex"))["default"];

const KATEX_OPTIONS = {
  output: "htmlAndMathml",
  trust: false,
  strict: "ignore",
  maxExpand: 200,
  maxSize: 20,
} as const;
/** Allowed style values: lengths in em and colours. */
const LENGTH_PROPERTY =
  /^(?:(?:min-|max-)?(?:height|width)|vertical-align|top|left|(?:margin|padding)-(?:left|right|top|bottom)|border-(?:bottom|top|right|left)?-?width)$/;
const LENGTH_VALUE = /^(?:-?\d+(?:\.\d+)?(?:em|%)|calc\(100% [+-] \d+(?:\.\d+)?em\)|0)$/;
const COLOUR_PROPERTY = /^(?:background-|border-)?color$/;
const COLOUR_VALUE = /^(?:#[\da-f]{3,8}|[a-z]{1,30})$/i;
const MAX_KATEX_LENGTH = 4_000;
const MAX_CACHED_FORMULAS = 500;

let katex: Katex | null = null;
let katexImport: Promise<void> | null = null;
/** Cache of rendered formulas, because the open end is rendered repeatedly; null for an invalid formula. */
const formulaCache = new Map<string, DocumentFragment | null>();

/** Render the formulas in an element. Returns whether KaTeX must be loaded first. */
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
    // All quotation marks in a formula's text are escaped, so these are attributes.
    return applyStyles(sanitizeFormula(html.replaceAll(' style="', ' data-style="')));
  } catch {
    return null; // invalid TeX is shown as source
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
