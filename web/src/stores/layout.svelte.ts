/** How answers are laid out: side by side in columns, or one at a time behind tabs. */

import { kept } from "./storage.ts";

export type Layout = "auto" | "1" | "2" | "3" | "tabs";
const remembered = kept<Layout>("layout", "auto");

class Arrangement {
  layout = $state<Layout>(remembered.read());

  choose(layout: Layout): void {
    this.layout = layout;
    remembered.write(layout);
  }
}

export const arrangement = new Arrangement();
