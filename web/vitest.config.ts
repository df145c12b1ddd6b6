// Unit tests are in tests/; those of browser/ are run by scripts/test-page, in a browser.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["tests/**/*.test.ts"], setupFiles: ["tests/node18.ts"] },
});
