/** What a person wrote, taken apart into code between fences and the words around it. */

import { closesFence, fenceOpened, type Fence } from "./lines.ts";

export interface Part {
  readonly text: string;
  readonly isCode: boolean;
}

/** Take a text apart; code keeps its fences, and empty lines beside them are left out. */
export function fenced(text: string): readonly Part[] {
  const parts: { lines: string[]; isCode: boolean }[] = [{ lines: [], isCode: false }];
  let open: Fence | null = null;
  for (const line of text.split("\n")) {
    const opened: Fence | null = open ? null : fenceOpened(line);
    if (opened) parts.push({ lines: [], isCode: true });
    parts.at(-1)?.lines.push(line);
    if (open && closesFence(line, open)) {
      parts.push({ lines: [], isCode: false });
      open = null;
    } else open ??= opened;
  }
  if (parts.length === 1) return [{ text, isCode: false }];
  return parts
    .map(({ lines, isCode }) => ({ text: isCode ? lines.join("\n") : trimmed(lines.join("\n")), isCode }))
    .filter((part) => part.text);
}

/** Leave out empty lines around it; how its first line is indented stays. */
const trimmed = (text: string): string => text.replace(/^(?:[ \t]*\n)+/, "").trimEnd();
