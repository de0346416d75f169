// Opens every stored trace, or those of LAXITY_TRACE_IDS (ids separated by spaces), and looks for one that shows nothing.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { wideTraceID } from "../dev/wide.ts";
import { base, launch, open, settled, wide } from "./browser.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

async function traces(): Promise<string[]> {
  const given = process.env["LAXITY_TRACE_IDS"]?.split(/\s+/).filter(Boolean);
  if (given) return given;
  const found: string[] = [];
  for (let cursor = ""; ; ) {
    const query = new URLSearchParams({ from: "1970-01-01T00:00:00Z", limit: "1000", ...(cursor ? { cursor } : {}) });
    const answer = await fetch(`${base()}/api/v1/traces?${query}`);
    if (!answer.ok) throw new Error(`search answers ${answer.status}: ${await answer.text()}`);
    const page = (await answer.json()) as { rows: { trace_id: string }[]; next: string | null };
    found.push(...page.rows.map((row) => row.trace_id));
    if (!page.next) return found;
    cursor = page.next;
  }
}

it("every trace opens and none is empty", async () => {
  // The golden search names traces that the golden files do not hold: there the first is opened, and a wide one.
  const found = await traces();
  const ids = process.env["LAXITY_FIXTURES"] ? [...found.slice(0, 1), wideTraceID] : found;
  expect(ids.length).toBeGreaterThan(0);
  const { context, page, complaints } = await open(browser, wide);
  const empty: string[] = [];
  await page.goto(`${base()}/search`);
  for (const id of ids) {
    // Moving inside the page is several times faster than loading it anew.
    await page.evaluate((path) => history.pushState(null, "", path), `/traces/${id}`);
    await page.locator(`[data-trace="${id}"], [role=alert]`).first().waitFor();
    await settled(page);
    const lines = await page.locator(".ledger-row").count();
    const bars = await page.locator(".wf-row").count();
    if (lines === 0 || bars === 0) empty.push(`${id}: ${lines} lines, ${bars} bars: ${(await page.locator("main").textContent())?.slice(0, 200)}`);
    if (complaints.length > 0) empty.push(`${id}: ${complaints.splice(0).join("; ")}`);
  }
  console.log(`opened ${ids.length} traces`);
  expect(empty).toEqual([]);
  await context.close();
}, 1_200_000);
