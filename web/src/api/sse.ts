/** Server-sent events out of bytes that are cut anywhere. */

/**
 * With every piece that comes, hand out the data of the events that are whole by then; there may be none.
 * Whoever leaves the loop hangs up.
 */
export async function* readSseEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<readonly string[], void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const frames = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = frames.pop() ?? "";
      yield frames.map(extractData).filter((data) => data !== "");
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

function extractData(frame: string): string {
  return frame
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(line[5] === " " ? 6 : 5))
    .join("\n");
}
