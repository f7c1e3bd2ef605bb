/** Copy to the clipboard, with a toast. Browsers allow it only in a secure context. */

import { toasts } from "../stores/toasts.svelte.ts";

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toasts.show("Copied.");
  } catch {
    toasts.show("The browser blocked copying. Select the text and copy it by hand.", { isError: true });
  }
}
