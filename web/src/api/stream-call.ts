/** A single API call whose response is a stream of events. */

import { sendRequest, type RequestOptions, type Endpoint } from "./client.ts";
import type { Calls } from "./types.ts";
import { readSseEvents } from "./sse.ts";

/** Leave the loop, or abort by `asking.signal`, to cancel. The server then stops too. */
export async function* streamCall<C extends Endpoint>(
  name: C,
  options: RequestOptions<C> = {},
): AsyncGenerator<Calls[C]["gives"], void> {
  const response = await sendRequest(name, options);
  if (!response.body) return;
  for await (const some of readSseEvents(response.body)) {
    for (const data of some) yield JSON.parse(data) as Calls[C]["gives"];
  }
}
