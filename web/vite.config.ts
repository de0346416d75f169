import { readFileSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { fixtureServer } from "./dev/server.ts";

// With LAXITY_API the page talks to a running Laxity; without it, to the fixtures in dev/.
const api = process.env["LAXITY_API"];

// The licence of the fonts goes where they go; those of the packages are written by the build.
const fontLicence = {
  name: "font-licence",
  generateBundle(this: { emitFile: (file: { type: "asset"; fileName: string; source: string }) => void }) {
    this.emitFile({ type: "asset", fileName: "assets/licence-fonts.txt", source: readFileSync("node_modules/@fontsource/ibm-plex-sans/LICENSE", "utf8") });
  },
};

export default defineConfig({
  plugins: [react(), fontLicence, ...(api ? [] : [fixtureServer()])],
  server: api ? { proxy: { "/api": api } } : {},
  preview: api ? { proxy: { "/api": api } } : {},
  build: { target: "es2022", cssTarget: ["chrome123", "firefox120", "safari17.5"], assetsInlineLimit: 0, chunkSizeWarningLimit: 400, license: { fileName: "assets/licences.md" } },
  // A loaded machine takes long over a tree of 50,000 spans; that is no fault of the code.
  test: { include: ["src/**/*.test.ts", "dev/**/*.test.ts"], testTimeout: 60_000 },
} as Parameters<typeof defineConfig>[0]);
