/** Copying, which browsers only allow on https and on this machine. */

import { toasts } from "./toasts.svelte.ts";

/** Copy a text, and say whether that was done. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toasts.say("Copied.");
  } catch {
    toasts.say("The browser does not let it be copied: select it, and copy it by hand.", { bad: true });
  }
}
