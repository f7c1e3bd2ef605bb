/** Parser for server-sent events from arbitrarily split chunks. */

/**
 * With each chunk, yields the data of the events that are complete by then; maybe none.
 * Leaving the loop cancels the request.
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
