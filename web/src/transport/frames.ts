/** Server-sent events out of bytes that are cut anywhere. */

export interface Frames {
  /** Take in a piece; gives the data of every event that is whole. */
  push(piece: Uint8Array): string[];
}

export function frames(): Frames {
  const decoder = new TextDecoder();
  let rest = "";
  return {
    push(piece) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n\n");
      rest = lines.pop() ?? "";
      return lines.map(dataOf).filter((data) => data !== "");
    },
  };
}

function dataOf(frame: string): string {
  return frame
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(line[5] === " " ? 6 : 5))
    .join("\n");
}
