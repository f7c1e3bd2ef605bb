import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [svelte({ configFile: "../../svelte.config.js" })],
  build: { emptyOutDir: true, target: "es2023", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
});
