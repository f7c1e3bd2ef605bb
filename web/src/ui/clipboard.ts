/** Copying, and saying so. Browsers allow it only where the connection is safe. */

import { toasts } from "../stores/toasts.svelte.ts";

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toasts.say("Copied.");
  } catch {
    toasts.say("The browser does not let it be copied: select it, and copy it by hand.", { bad: true });
  }
}
