// Traces of 50,000 spans: one as it was sent and judged, one made whose parents are missing. What is measured is what is drawn, not how
// fast the machine is.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { wideStatement, wideTrace, wideTraceID } from "../dev/wide.ts";
import { base, launch, open, settled, wide } from "./browser.ts";
import { largeID, sendLarge } from "./large.ts";

const size = 50_000;
// Sent and judged it takes half a minute longer: in the short run it is half as long.
const sentSize = process.env["LAXITY_SOAK"] ? size : size / 2;
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

/** Scrolls through the waterfall in five leaps, collapses and expands it; at most so many elements are there, and no frame stands still. */
async function walk(page: Page, size: number): Promise<void> {
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
  const longest = await page.evaluate(() => (window as unknown as { longest: number }).longest);
  console.log(`the longest frame took ${longest} ms`);
  expect(longest).toBeLessThan(longestFrame);
}

it(`a made trace of ${size} spans stays fluid and never blank`, async () => {
  const { context, page, complaints } = await open(browser, wide);
  const trace = wideTrace(size);
  await page.route(`**/api/v1/traces/${wideTraceID}`, (route) => route.fulfill({ json: trace }));
  await page.route(`**/api/v1/traces/${wideTraceID}/statement*`, (route) => route.fulfill({ json: wideStatement() }));
  await page.goto(`${base()}/traces/${wideTraceID}`);
  await settled(page);
  await walk(page, size);
  expect(await page.locator("main").textContent()).toContain("missing");
  expect(complaints).toEqual([]);
  await context.close();
});

const otlp = process.env["LAXITY_OTLP_HTTP"] ?? "";

it.runIf(otlp)(`a trace of ${sentSize} spans is judged whole, found by what is at its end, and stays fluid`, async () => {
  // Long ago, so that no other test meets it: each of its calls is a stage of its own.
  const began = Date.now() - 20 * 24 * 3600 * 1000;
  await sendLarge(otlp, sentSize, began);
  const around = `from=${new Date(began - 1000).toISOString()}&to=${new Date(began + 3_600_000).toISOString()}`;
  await expect.poll(async () => {
    const found = (await (await fetch(`${base()}/api/v1/reports/findings?${around}&service=catalogue&rule=renewed_clock`)).json()) as { rows: { spans: number }[] };
    return found.rows.map((row) => row.spans);
  }, { timeout: 120_000, interval: 1000 }).toEqual([1]);

  const { context, page, complaints } = await open(browser, wide);
  await page.goto(`${base()}/findings?${around}&service=catalogue&rule=renewed_clock`);
  await page.locator(`a[href*="${largeID}"]`).first().click();
  await page.locator(`[data-trace="${largeID}"]`).waitFor();
  await settled(page);
  await walk(page, sentSize);
  // The one finding near the end, by its key: the rows before it need not have been drawn.
  await page.locator(".pane-scroll.wf").evaluate((pane) => { pane.scrollTop = 0; });
  await expect.poll(async () => {
    await page.keyboard.press("n");
    return page.evaluate(() => Number(document.querySelector(".wf-row.selected")?.id.slice(5) ?? 0));
  }, { timeout: 60_000, interval: 500 }).toBeGreaterThan(sentSize * 0.9);
  expect(complaints).toEqual([]);
  await context.close();
});
