/** Tokens as HTML. Every text goes through an escape; tags and attributes are only those written here. */

import type { Token, Tokens } from "marked";
import { escaped, escapedProse } from "./escape.ts";
import { lexed, type FormulaToken } from "./lexer.ts";
import { target, tells } from "./links.ts";

const LINK = 'target="_blank" rel="noopener noreferrer nofollow"';
/** An answer stands below the headings of the page and of its card. */
const HEADINGS_BELOW = 2;

/** Return a segment of markdown as HTML. */
export function rendered(text: string): string {
  const tokens = lexed(text);
  return tokens === null ? `<p class="plain">${escaped(text)}</p>` : blocks(tokens);
}

/** Return code as HTML; its language is a word of the model's. */
export function renderedCode(text: string, language: string): string {
  return (
    `<figure class="code"><figcaption>${escaped(language || "text")}</figcaption>` +
    `<pre tabindex="0"><code data-language="${escaped(language)}">${escaped(text)}</code></pre></figure>`
  );
}

function blocks(tokens: readonly Token[]): string {
  return tokens.map((token) => block(token as Tokens.Generic)).join("");
}

function block(token: Tokens.Generic): string {
  switch (token.type) {
    case "space":
      return "";
    case "heading": {
      const depth = Math.min(token.depth + HEADINGS_BELOW, 6);
      return `<h${depth}>${inline(token.tokens)}</h${depth}>`;
    }
    case "hr":
      return "<hr>";
    case "code":
      return renderedCode(`${token.text}\n`, (token.lang ?? "").split(/\s/, 1)[0]);
    case "blockquote":
      return `<blockquote>${blocks(token.tokens ?? [])}</blockquote>`;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "formula":
      return formula(token as FormulaToken, "div");
    case "noted":
      return `<p class="noted" data-noted="${escaped(token.label)}"><sup>${escaped(token.label)}</sup> ${inline(token.tokens)}</p>`;
    case "text":
      return token.tokens === undefined ? escapedProse(token.text) : inline(token.tokens);
    case "checkbox":
      return box(token.checked);
    default:
      return `<p>${inline(token.tokens ?? [{ type: "text", raw: token.raw, text: token.raw }])}</p>`;
  }
}

function list({ ordered, start, items }: Tokens.List): string {
  const tag = ordered ? "ol" : "ul";
  const from = ordered && typeof start === "number" && start !== 1 ? ` start="${start}"` : "";
  const rows = items.map((item) => `<li${item.task ? ' class="task"' : ""}>${blocks(item.tokens)}</li>`);
  return `<${tag}${from}>${rows.join("")}</${tag}>`;
}

function box(checked: boolean): string {
  return `<span class="box" role="img" aria-label="${checked ? "Done" : "To do"}"></span> `;
}

function table({ header, rows }: Tokens.Table): string {
  const cells = (tag: "th" | "td", row: readonly Tokens.TableCell[]): string =>
    `<tr>${row.map(({ align, tokens }) => `<${tag}${align ? ` class="${align}"` : ""}>${inline(tokens)}</${tag}>`).join("")}</tr>`;
  const body = rows.map((row) => cells("td", row)).join("");
  return `<div class="wide" role="group" aria-label="Table" tabindex="0"><table><thead>${cells("th", header)}</thead><tbody>${body}</tbody></table></div>`;
}

function formula({ source, display }: FormulaToken, tag: "div" | "span"): string {
  return `<${tag} class="formula" data-formula="${display ? "display" : "inline"}">${escaped(source)}</${tag}>`;
}

function inline(tokens: readonly Token[] = []): string {
  return tokens.map((token) => span(token as Tokens.Generic)).join("");
}

function span(token: Tokens.Generic): string {
  switch (token.type) {
    case "strong":
      return `<strong>${inline(token.tokens)}</strong>`;
    case "em":
      return `<em>${inline(token.tokens)}</em>`;
    case "del":
      return `<del>${inline(token.tokens)}</del>`;
    case "codespan":
      return `<code>${escaped(token.text)}</code>`;
    case "br":
      return "<br>";
    case "link":
      return link(token as Tokens.Link);
    case "image":
      return image(token as Tokens.Image);
    case "formula":
      return formula(token as FormulaToken, "span");
    case "note":
      return `<sup><a class="note" href="#${escaped(token.label)}" data-note="${escaped(token.label)}">${escaped(token.label)}</a></sup>`;
    case "checkbox":
      return box(token.checked);
    default:
      return escapedProse(token.text ?? token.raw);
  }
}

function link({ href, text, tokens }: Tokens.Link): string {
  const to = target(href);
  if (to === null) return inline(tokens);
  const place = tells(text, to) ? "" : ` <span class="place">${escaped(to.place)}</span>`;
  return `<a href="${escaped(to.href)}" ${LINK}>${inline(tokens)}</a>${place}`;
}

/** An image is not loaded: it is a link that says what it shows and where it lies. */
function image({ href, text }: Tokens.Image): string {
  const to = target(href);
  const shown = escapedProse(text.trim() || "Image");
  if (to === null) return `<span class="image">${shown}</span>`;
  return `<a class="image" href="${escaped(to.href)}" ${LINK}>${shown}</a> <span class="place">${escaped(to.place)}</span>`;
}
