/** Dark or light: as the system has it, unless somebody chose. */

import { kept } from "./storage.ts";

type Theme = "system" | "light" | "dark";
const NEXT: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };
const chosen = kept<Theme>("theme", "system");

class Look {
  theme = $state<Theme>(chosen.read());
  #system = $state<"light" | "dark">("light");
  readonly isDark = $derived((this.theme === "system" ? this.#system : this.theme) === "dark");
  readonly words = $derived(
    { system: `System theme (${this.#system})`, light: "Light theme", dark: "Dark theme" }[this.theme],
  );

  constructor() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const look = () => (this.#system = dark.matches ? "dark" : "light");
    dark.addEventListener("change", look);
    look();
    this.#show();
  }

  next(): void {
    this.theme = NEXT[this.theme];
    chosen.write(this.theme);
    this.#show();
  }

  #show(): void {
    if (this.theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = this.theme;
  }
}

export const look = new Look();
