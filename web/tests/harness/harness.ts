/** Renders Markdown without the rest of the page, for browser tests. */

import { flushSync, mount } from "svelte";
import { GrowingDocument } from "../../src/markdown/document.ts";
import { markQuote } from "../../src/markdown/find-quote.ts";
import { DocumentRenderer } from "../../src/markdown/painter.ts";
import Card from "./Card.svelte";

import.meta.glob("../../src/*.css", { eager: true });

const card = document.querySelector("#card") as HTMLElement;
const shown = mount(Card, { target: card });

/** Show a text in the component, which schedules its own painting. */
function show(text: string, live: boolean): void {
  shown.show(text, live);
  flushSync();
}

/** Paint a text character by character, without the component. Calls `visit` after each paint. */
function grow(text: string, visit: (root: HTMLElement) => void): HTMLElement {
  const root = document.createElement("div");
  root.className = "markdown";
  document.querySelector("main")?.append(root);
  const growing = new GrowingDocument();
  const renderer = new DocumentRenderer(root);
  for (let end = 1; end <= text.length; end++) {
    growing.grow(text.slice(0, end));
    renderer.paint(growing);
    visit(root);
  }
  growing.end();
  renderer.paint(growing);
  visit(root);
  return root;
}

Object.assign(window, { show, grow, quote: (words: string) => markQuote(card, words) !== null });
