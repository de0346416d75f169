import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["e2e/**/*.spec.ts"], globalSetup: ["e2e/serve.ts"], testTimeout: 300_000, hookTimeout: 120_000, teardownTimeout: 60_000, fileParallelism: false },
});
