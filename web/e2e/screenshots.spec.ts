// Takes pictures of pages: NAME.png in light, NAME-dark.png, and NAME-narrow.png at 390 px.
// LAXITY_SHOTS: the folder to write to. LAXITY_PAGES: NAME=PATH, separated by spaces; by default every page but a trace.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Browser } from "playwright-core";
import { base, launch, narrow, open, settled, wide, type View } from "./browser.ts";

const everyPage = ["overview=/", ...["alerts", "search", "changes", "findings", "stages", "dependencies", "phases", "reserves", "advice", "local", "orphans", "cancellations", "retries", "propagation", "conformance", "limits"].map((name) => `${name}=/${name}`)].join(" ");
const folder = process.env["LAXITY_SHOTS"] ?? "test-results/screenshots";
const pages = (process.env["LAXITY_PAGES"] ?? everyPage).split(/\s+/).filter(Boolean).map((text) => {
  const at = text.indexOf("=");
  return { name: text.slice(0, at), path: text.slice(at + 1) };
});

let browser: Browser;
beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  browser = await launch();
});
afterAll(() => browser.close());

const views: { suffix: string; view: View }[] = [{ suffix: "", view: wide }, { suffix: "-dark", view: { ...wide, theme: "dark" } }, { suffix: "-narrow", view: narrow }];

for (const { suffix, view } of views) {
  it.each(pages)(`$name${suffix}`, async ({ name, path }) => {
    const { context, page, complaints } = await open(browser, view);
    await page.goto(base() + path);
    await settled(page);
    await page.screenshot({ path: join(folder, `${name}${suffix}.png`) });
    expect(complaints).toEqual([]);
    await context.close();
  });
}
