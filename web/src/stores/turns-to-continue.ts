import { SvelteMap } from "svelte/reactivity";

/** By run: the number of turns that this client asked it to continue for. The server does not report it. */
export const turnsToContinue = new SvelteMap<string, number>();
