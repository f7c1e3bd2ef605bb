import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

/** KaTeX lists each font three times; every browser that runs this page reads woff2. */
function onlyWoff2(): Plugin {
  return {
    name: "only-woff2",
    enforce: "pre",
    transform(code, id) {
      if (!id.includes("katex") || !id.split("?", 1).join().endsWith(".css")) return;
      return code.replace(/,url\([^)]*\.(woff|ttf)\) format\("[a-z]+"\)/g, "");
    },
  };
}

export default defineConfig({
  plugins: [onlyWoff2(), svelte()],
  build: {
    outDir: "../src/moot/static",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/api": "http://localhost:8642" } },
});
