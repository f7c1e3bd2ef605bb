/** What the server tells in answer to one call, event by event, until it has told all. */

import { send, type Asking, type Call } from "./client.ts";
import type { Calls } from "./types.ts";
import { framed } from "./sse.ts";

/** Leave the loop, or abort by `asking.signal`, to hear no more; the server then stops too. */
export async function* told<C extends Call>(
  name: C,
  asking: Asking<C> = {},
): AsyncGenerator<Calls[C]["gives"], void> {
  const response = await send(name, asking);
  if (!response.body) return;
  for await (const some of framed(response.body)) {
    for (const data of some) yield JSON.parse(data) as Calls[C]["gives"];
  }
}
