// Takes pictures of pages in light and dark, wide and narrow.
// LAXITY_SHOTS: the folder to write to. LAXITY_PAGES: NAME=PATH, separated by spaces.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Browser } from "playwright-core";
import { base, launch, open, settled } from "./browser.ts";

const folder = process.env["LAXITY_SHOTS"] ?? "test-results/screenshots";
const pages = (process.env["LAXITY_PAGES"] ?? "overview=/ search=/search").split(/\s+/).filter(Boolean).map((text) => {
  const at = text.indexOf("=");
  return { name: text.slice(0, at), path: text.slice(at + 1) };
});

let browser: Browser;
beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  browser = await launch();
});
afterAll(() => browser.close());

for (const theme of ["light", "dark"] as const) {
  for (const width of [1440, 390]) {
    it.each(pages)(`$name, ${theme}, ${width} px`, async ({ name, path }) => {
      const { context, page, complaints } = await open(browser, { theme, width, height: width === 390 ? 844 : 900 });
      await page.goto(base() + path);
      await settled(page);
      await page.screenshot({ path: join(folder, `${name}-${theme}-${width}.png`), fullPage: width === 390 });
      expect(complaints).toEqual([]);
      await context.close();
    });
  }
}
