/** Copying, and saying so. Browsers allow it only where the connection is safe. */

import { toasts } from "../stores/toasts.svelte.ts";

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toasts.show("Copied.");
  } catch {
    toasts.show("The browser does not let it be copied: select it, and copy it by hand.", { isError: true });
  }
}
