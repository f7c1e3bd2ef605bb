/** Dark or light theme: the system's, unless the user chose one. */

import { persisted } from "./storage.ts";

type Theme = "system" | "light" | "dark";
const NEXT_THEME: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };
const savedTheme = persisted<Theme>("theme", "system");

class ThemeStore {
  theme = $state<Theme>(savedTheme.read());
  #systemTheme = $state<"light" | "dark">("light");
  readonly isDark = $derived((this.theme === "system" ? this.#systemTheme : this.theme) === "dark");
  readonly words = $derived(
    { system: `System theme (${this.#systemTheme})`, light: "Light theme", dark: "Dark theme" }[this.theme],
  );

  constructor() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const look = () => (this.#systemTheme = dark.matches ? "dark" : "light");
    dark.addEventListener("change", look);
    look();
    this.#applyTheme();
  }

  switchTheme(): void {
    this.theme = NEXT_THEME[this.theme];
    savedTheme.write(this.theme);
    this.#applyTheme();
  }

  #applyTheme(): void {
    if (this.theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = this.theme;
  }
}

export const themeStore = new ThemeStore();
