/** Splits a user's text into fenced code and the text around it. */

import { isFenceEnd, parseFenceStart, type Fence } from "./lines.ts";

export interface TextPart {
  readonly text: string;
  readonly isCode: boolean;
}

/** Split a text. Code keeps its fences; empty lines beside them are dropped. */
export function splitCodeFences(text: string): readonly TextPart[] {
  const parts: { lines: string[]; isCode: boolean }[] = [{ lines: [], isCode: false }];
  let open: Fence | null = null;
  for (const line of text.split("\n")) {
    const opened: Fence | null = open ? null : parseFenceStart(line);
    if (opened) parts.push({ lines: [], isCode: true });
    parts.at(-1)?.lines.push(line);
    if (open && isFenceEnd(line, open)) {
      parts.push({ lines: [], isCode: false });
      open = null;
    } else open ??= opened;
  }
  if (parts.length === 1) return [{ text, isCode: false }];
  return parts
    .map(({ lines, isCode }) => ({
      text: isCode ? lines.join("\n") : trimBlankLines(lines.join("\n")),
      isCode,
    }))
    .filter((part) => part.text);
}

/** Trim empty lines. The indentation of the first line stays. */
const trimBlankLines = (text: string): string => text.replace(/^(?:[ \t]*\n)+/, "").trimEnd();
