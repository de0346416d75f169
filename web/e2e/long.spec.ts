// A trace of 50,000 spans, and one whose parents are missing. What is measured is what is drawn, not how fast the machine is.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { wideStatement, wideTrace, wideTraceID } from "../dev/wide.ts";
import { base, launch, open, settled, wide } from "./browser.ts";

const size = 50_000;
// One element a row would be at least 50,000; the shell, both panes and their rows in sight are far below.
const mostElements = 4_000;
// A frame that takes longer than this is a page that stands still, even on a machine with other things to do.
const longestFrame = 5_000;

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const elements = (page: Page) => page.evaluate(() => document.querySelectorAll("main *").length);

it(`a trace of ${size} spans stays fluid and never blank`, async () => {
  const { context, page, complaints } = await open(browser, wide);
  const trace = wideTrace(size);
  await page.route(`**/api/v1/traces/${wideTraceID}`, (route) => route.fulfill({ json: trace }));
  await page.route(`**/api/v1/traces/${wideTraceID}/statement*`, (route) => route.fulfill({ json: wideStatement() }));
  await page.goto(`${base()}/traces/${wideTraceID}`);
  await settled(page);
  await page.locator(".wf-row").first().waitFor();
  await page.locator(".minimap canvas").waitFor();
  expect(await elements(page)).toBeLessThan(mostElements);
  await page.evaluate(() => {
    const seen = window as unknown as { longest: number };
    seen.longest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) seen.longest = Math.max(seen.longest, entry.duration);
    }).observe({ type: "longtask" });
  });
  const shown = new Set<string>();
  for (const share of [0.1, 0.3, 0.5, 0.8, 1]) {
    await page.locator(".pane-scroll.wf").evaluate((pane, part) => { pane.scrollTop = part * pane.scrollHeight; }, share);
    const row = Math.floor(share * (size - 200));
    await page.waitForFunction((least) => Math.max(...[...document.querySelectorAll(".wf-row")].map((one) => Number(one.id.slice(5)))) > least, row);
    shown.add((await page.locator(".wf-row").last().getAttribute("aria-label")) ?? "");
    expect(await elements(page)).toBeLessThan(mostElements);
  }
  expect(shown.size).toBe(5);
  await page.keyboard.press("[");
  await page.waitForFunction(() => document.querySelectorAll(".wf-row").length < 10);
  await page.keyboard.press("]");
  await page.waitForFunction(() => document.querySelectorAll(".wf-row").length > 10);
  expect(await page.evaluate(() => (window as unknown as { longest: number }).longest)).toBeLessThan(longestFrame);
  expect(await page.locator("main").textContent()).toContain("missing");
  expect(complaints).toEqual([]);
  await context.close();
});
