/** Layout of answers: columns or tabs. */

import { persisted } from "./storage.ts";

export type Layout = "auto" | "1" | "2" | "3" | "tabs";
const savedLayout = persisted<Layout>("layout", "auto");

class LayoutStore {
  layout = $state<Layout>(savedLayout.read());

  setLayout(layout: Layout): void {
    this.layout = layout;
    savedLayout.write(layout);
  }
}

export const layoutStore = new LayoutStore();
