/**
 * Formulas as MathML, which browsers draw by themselves: no style attributes, which the content policy forbids, no style
 * sheet and no fonts. KaTeX, which reads the TeX, is loaded with the first formula; until then its source is shown.
 */

import { sanitisedFormula } from "./sanitise.ts";

type Katex = (typeof import("katex"))["default"];

const OPTIONS = { output: "mathml", trust: false, strict: "ignore", maxExpand: 200, maxSize: 20 } as const;
const LONGEST = 4_000;
const KEPT = 500;

let katex: Katex | null = null;
let loading: Promise<void> | null = null;
/** What formulas became, since the open end of an answer is drawn again and again; null is one that cannot be read. */
const known = new Map<string, DocumentFragment | null>();

/** Draw the formulas in an element; tell whether KaTeX has to be loaded for it. */
export function drawFormulas(element: Element): boolean {
  const formulas = element.querySelectorAll<HTMLElement>("[data-formula]:not(.drawn)");
  if (formulas.length > 0 && katex === null) return true;
  for (const formula of formulas) draw(formula);
  return false;
}

export function loadKatex(): Promise<void> {
  loading ??= import("katex").then((module) => {
    katex = module.default;
  });
  return loading;
}

function draw(formula: HTMLElement): void {
  const source = formula.textContent ?? "";
  const drawn = drawing(source, formula.dataset.formula === "display");
  formula.classList.add("drawn");
  if (drawn === null) formula.classList.add("unread");
  else formula.replaceChildren(drawn.cloneNode(true));
}

function drawing(source: string, displayMode: boolean): DocumentFragment | null {
  const key = `${displayMode} ${source}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = read(source, displayMode);
  if (known.size >= KEPT) known.delete(known.keys().next().value ?? "");
  known.set(key, made);
  return made;
}

function read(source: string, displayMode: boolean): DocumentFragment | null {
  if (katex === null || source.length > LONGEST) return null;
  try {
    return sanitisedFormula(katex.renderToString(source, { ...OPTIONS, displayMode }));
  } catch {
    return null; // what is no TeX is shown as it was written
  }
}
