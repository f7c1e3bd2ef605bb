/** What the server tells in answer to one call, event by event, until it has told all. */

import { send, type Asking, type Call } from "../api.ts";
import type { Calls } from "../wire.ts";
import { frames } from "./frames.ts";

/** Leave the loop, or abort by `asking.signal`, to hear no more; the server then stops too. */
export async function* told<C extends Call>(
  name: C,
  asking: Asking<C> = {},
): AsyncGenerator<Calls[C]["gives"], void> {
  const response = await send(name, asking);
  if (!response.body) return;
  const reader = response.body.getReader();
  const parser = frames();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isOver = done;
      if (done) return;
      for (const data of parser.push(value)) yield JSON.parse(data) as Calls[C]["gives"];
    }
  } finally {
    if (!isOver) void reader.cancel().catch(() => undefined);
  }
}
