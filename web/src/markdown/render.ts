/**
 * Renders tokens as HTML. All text is escaped; tags and attributes are only those written here. Second line of defence:
 * all settled HTML passes an allow-list of tags and attributes.
 */

import type { Token, Tokens } from "marked";
import { lexSegment, type FormulaToken } from "./lexer.ts";
import DOMPurify, { type Config } from "dompurify";

const LINK_ATTRIBUTES = 'target="_blank" rel="noopener noreferrer nofollow"';
/** Headings of an answer are below those of the page and the card. */
const HEADING_OFFSET = 2;

/** Return a Markdown segment as HTML. */
export function renderMarkdown(text: string): string {
  const tokens = lexSegment(text);
  return tokens === null ? `<p class="plain">${escapeHtml(text)}</p>` : renderBlocks(tokens);
}

/** Return code as HTML. The language comes from the model. */
export function renderCode(text: string, language: string): string {
  return (
    `<figure class="code"><figcaption>${escapeHtml(language || "text")}</figcaption>` +
    `<pre tabindex="0"><code data-language="${escapeHtml(language)}">${escapeHtml(text)}</code></pre></figure>`
  );
}

function renderBlocks(tokens: readonly Token[]): string {
  return tokens.map((token) => renderBlock(token as Tokens.Generic)).join("");
}

function renderBlock(token: Tokens.Generic): string {
  switch (token.type) {
    case "space":
      return "";
    case "heading": {
      const depth = Math.min(token.depth + HEADING_OFFSET, 6);
      return `<h${depth}>${renderInline(token.tokens)}</h${depth}>`;
    }
    case "hr":
      return "<hr>";
    case "code":
      return renderCode(`${token.text}\n`, (token.lang ?? "").split(/\s/, 1)[0]);
    case "blockquote":
      return `<blockquote>${renderBlocks(token.tokens ?? [])}</blockquote>`;
    case "list":
      return renderList(token as Tokens.List);
    case "table":
      return renderTable(token as Tokens.Table);
    case "formula":
      return renderFormulaPlaceholder(token as FormulaToken, "div");
    case "noted":
      return `<p class="noted" data-noted="${escapeHtml(token.label)}"><sup>${escapeHtml(token.label)}</sup> ${renderInline(token.tokens)}</p>`;
    case "text":
      return token.tokens === undefined ? escapeProse(token.text) : renderInline(token.tokens);
    case "checkbox":
      return renderCheckbox(token.checked);
    default:
      return `<p>${renderInline(token.tokens ?? [{ type: "text", raw: token.raw, text: token.raw }])}</p>`;
  }
}

function renderList({ ordered, start, items }: Tokens.List): string {
  const tag = ordered ? "ol" : "ul";
  const from = ordered && typeof start === "number" && start !== 1 ? ` start="${start}"` : "";
  const rows = items.map((item) => `<li${item.task ? ' class="task"' : ""}>${renderBlocks(item.tokens)}</li>`);
  return `<${tag}${from}>${rows.join("")}</${tag}>`;
}

function renderCheckbox(checked: boolean): string {
  return `<span class="box" role="img" aria-label="${checked ? "Done" : "To do"}"></span> `;
}

function renderTable({ header, rows }: Tokens.Table): string {
  const cells = (tag: "th" | "td", row: readonly Tokens.TableCell[]): string =>
    `<tr>${row.map(({ align, tokens }) => `<${tag}${align ? ` class="${align}"` : ""}>${renderInline(tokens)}</${tag}>`).join("")}</tr>`;
  const body = rows.map((row) => cells("td", row)).join("");
  return `<div class="wide" role="group" aria-label="Table" tabindex="0"><table><thead>${cells("th", header)}</thead><tbody>${body}</tbody></table></div>`;
}

function renderFormulaPlaceholder({ source, display }: FormulaToken, tag: "div" | "span"): string {
  return `<${tag} class="formula" data-formula="${display ? "display" : "inline"}">${escapeHtml(source)}</${tag}>`;
}

function renderInline(tokens: readonly Token[] = []): string {
  return tokens.map((token) => renderInlineToken(token as Tokens.Generic)).join("");
}

function renderInlineToken(token: Tokens.Generic): string {
  switch (token.type) {
    case "strong":
      return `<strong>${renderInline(token.tokens)}</strong>`;
    case "em":
      return `<em>${renderInline(token.tokens)}</em>`;
    case "del":
      return `<del>${renderInline(token.tokens)}</del>`;
    case "codespan":
      return `<code>${escapeHtml(token.text)}</code>`;
    case "br":
      return "<br>";
    case "link":
      return renderLink(token as Tokens.Link);
    case "image":
      return renderImage(token as Tokens.Image);
    case "formula":
      return renderFormulaPlaceholder(token as FormulaToken, "span");
    case "note":
      return `<sup><a class="note" href="#${escapeHtml(token.label)}" data-note="${escapeHtml(token.label)}">${escapeHtml(token.label)}</a></sup>`;
    case "checkbox":
      return renderCheckbox(token.checked);
    default:
      return escapeProse(token.text ?? token.raw);
  }
}

function renderLink({ href, text, tokens }: Tokens.Link): string {
  const to = parseLinkTarget(href);
  if (to === null) return renderInline(tokens);
  const place = showsDestination(text, to) ? "" : ` <span class="place">${escapeHtml(to.destination)}</span>`;
  return `<a href="${escapeHtml(to.href)}" ${LINK_ATTRIBUTES}>${renderInline(tokens)}</a>${place}`;
}

/** Images are not loaded. They become links with their description and host. */
function renderImage({ href, text }: Tokens.Image): string {
  const to = parseLinkTarget(href);
  const shown = escapeProse(text.trim() || "Image");
  if (to === null) return `<span class="image">${shown}</span>`;
  return `<a class="image" href="${escapeHtml(to.href)}" ${LINK_ATTRIBUTES}>${shown}</a> <span class="place">${escapeHtml(to.destination)}</span>`;
}

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const NAMED_ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const BARE_AMPERSAND = /&(?!(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][a-zA-Z\d]{1,31});)/g;

/** Escape everything, for code, formulas and attributes. With `escapeProse` the only way for model text into HTML. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => ENTITIES[mark] ?? "").replaceAll("\0", "\ufffd");
}

/** Escape prose, where &copy; stands for a character. A character reference can never become a tag. */
function escapeProse(text: string): string {
  const kept = text.replace(BARE_AMPERSAND, "&amp;");
  return kept.replace(/[<>"']/g, (mark) => ENTITIES[mark] ?? "").replaceAll("\0", "\ufffd");
}

/** Resolve the character references in URLs. */
function unescapeHtml(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (whole, name: string) => NAMED_ENTITIES[name] ?? whole);
}

interface LinkTarget {
  href: string;
  /** Short target: a host or a mail address. */
  destination: string;
}

const ALLOWED_SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** Return the target of a URL, or null if an answer may not link to it. */
export function parseLinkTarget(address: string): LinkTarget | null {
  const url = parseUrl(unescapeHtml(address).trim());
  if (url === null || !ALLOWED_SCHEMES.has(url.protocol)) return null;
  if (url.protocol === "mailto:")
    return url.pathname.includes("@") ? { href: url.href, destination: url.pathname } : null;
  return { href: url.href, destination: url.host };
}

/** Older browsers have no URL.parse. */
function parseUrl(address: string): URL | null {
  try {
    return new URL(address);
  } catch {
    return null;
  }
}

/** Return whether the link text already starts with its target. */
export function showsDestination(text: string, { destination: place }: LinkTarget): boolean {
  const shown = text
    .trim()
    .toLowerCase()
    .replace(/^(?:https?:\/\/|mailto:)/, "");
  const bare = (host: string): string => host.toLowerCase().replace(/^www\./, "");
  const rest = bare(shown).slice(bare(place).length);
  return bare(shown).startsWith(bare(place)) && /^(?:$|[/?#])/.test(rest);
}

const splitWords = (text: string): string[] => text.split(" ");

/** Tags and attributes of Markdown blocks. */
const BLOCK_TAGS = splitWords(
  "a blockquote br code del div em figcaption figure h3 h4 h5 h6 hr li ol p pre span strong sup table tbody td th thead tr ul",
);
const BLOCK_ATTRIBUTES = splitWords(
  "aria-label class data-formula data-language data-note data-noted href rel role start tabindex target",
);
/** Tags and attributes of KaTeX. Its source annotation is left out, because screen readers would read it too. */
const MATH_TAGS = splitWords(
  "span svg path math semantics mrow mi mo mn ms mtext mspace msub msup msubsup mfrac msqrt mroot munder mover munderover mmultiscripts mtable mtr mtd mstyle mpadded mphantom menclose merror",
);
const MATH_ATTRIBUTES = splitWords(
  "aria-hidden class d data-style preserveaspectratio viewbox xmlns accent accentunder columnalign columnlines columnspacing depth display displaystyle fence height linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator side stretchy symmetric voffset width",
);

type Purifier = ReturnType<typeof DOMPurify>;

const COMMON_CONFIG: Config = {
  RETURN_DOM_FRAGMENT: true,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
  // The URL rule applies to URL attributes only.
  ADD_URI_SAFE_ATTR: [...BLOCK_ATTRIBUTES, ...MATH_ATTRIBUTES].filter((name) => name !== "href"),
};
const BLOCK_CONFIG: Config = { ...COMMON_CONFIG, ALLOWED_TAGS: BLOCK_TAGS, ALLOWED_ATTR: BLOCK_ATTRIBUTES };
const CODE_CONFIG: Config = { ...COMMON_CONFIG, ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"] };
const FORMULA_CONFIG: Config = {
  ...COMMON_CONFIG,
  ALLOWED_TAGS: MATH_TAGS,
  ALLOWED_ATTR: MATH_ATTRIBUTES,
  FORBID_CONTENTS: ["annotation", "annotation-xml", "script", "style"],
};

export const sanitizeBlock = createSanitizer(BLOCK_CONFIG);
/** Allows the highlighter's output: spans with classes. */
export const sanitizeCode = createSanitizer(CODE_CONFIG);
export const sanitizeFormula = createSanitizer(FORMULA_CONFIG);

/** One instance per list, because reading a list costs as much as a block. Created on first use: it needs a window. */
function createSanitizer(config: Config): (html: string) => DocumentFragment {
  let purify: Purifier | null = null;
  return (html) => (purify ??= createPurifier(config)).sanitize(html) as unknown as DocumentFragment;
}

function createPurifier(config: Config): Purifier {
  const purify = DOMPurify(window);
  purify.setConfig(config);
  // A link that opens elsewhere must not send a referrer. DOMPurify drops targets unless configured.
  purify.addHook("afterSanitizeAttributes", (node) => {
    if (node.nodeName === "A" && node.getAttribute("href")?.startsWith("#") === false) {
      node.setAttribute("target", "_blank");
      node.setAttribute("rel", "noopener noreferrer nofollow");
    }
  });
  return purify;
}
