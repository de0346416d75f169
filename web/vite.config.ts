import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { fixtureServer } from "./dev/server.ts";

// With LAXITY_API the page talks to a running Laxity; without it, to the fixtures in dev/.
const api = process.env["LAXITY_API"];

export default defineConfig({
  plugins: [react(), ...(api ? [] : [fixtureServer()])],
  server: api ? { proxy: { "/api": api } } : {},
  preview: api ? { proxy: { "/api": api } } : {},
  build: { target: "es2022", cssTarget: ["chrome123", "firefox120", "safari17.5"], assetsInlineLimit: 0, chunkSizeWarningLimit: 400 },
  test: { include: ["src/**/*.test.ts", "dev/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);
