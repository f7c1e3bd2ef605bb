/** Renders tokens as HTML. All text is escaped; tags and attributes are only those written here. */

import type { Token, Tokens } from "marked";
import { escapeHtml, escapeProse } from "./escape.ts";
import { lexSegment, type FormulaToken } from "./lexer.ts";
import { parseLinkTarget, showsDestination } from "./links.ts";

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
  const rows = items.map(
    (item) => `<li${item.task ? ' class="task"' : ""}>${renderBlocks(item.tokens)}</li>`,
  );
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
