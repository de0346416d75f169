// Opens every stored trace, or those of LAXITY_TRACE_IDS (ids separated by spaces), and looks for one that shows nothing.
import type { Browser, Page } from "playwright-core";
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

/** Moves to a trace within the page and counts what shows of it; one round trip, because there are many. */
function show(page: Page, id: string): Promise<{ lines: number; bars: number; text: string }> {
  return page.evaluate(async (trace) => {
    history.pushState(null, "", `/traces/${trace}`);
    const count = (selector: string) => document.querySelectorAll(selector).length;
    const seen = () => ({ lines: count(".ledger-row"), bars: count(".wf-row"), text: document.querySelector("main")?.textContent?.slice(0, 200) ?? "" });
    for (const start = performance.now(); performance.now() - start < 20_000; ) {
      const done = count(".loading") === 0 && count(`[data-trace="${trace}"]`) > 0;
      const found = seen();
      if ((done && found.lines > 0 && found.bars > 0) || count("main [role=alert]") > 0) return found;
      await new Promise((next) => requestAnimationFrame(next));
    }
    return seen();
  }, id);
}

it("every trace opens and none is empty", async () => {
  const ids = await traces();
  if (process.env["LAXITY_FIXTURES"]) ids.push(wideTraceID);
  expect(ids.length).toBeGreaterThan(0);
  const { context, page, complaints } = await open(browser, wide);
  const empty: string[] = [];
  await page.goto(`${base()}/search`);
  await settled(page);
  for (const id of ids) {
    const { lines, bars, text } = await show(page, id);
    if (lines === 0 || bars === 0) empty.push(`${id}: ${lines} lines, ${bars} bars: ${text}`);
    if (complaints.length > 0) empty.push(`${id}: ${complaints.splice(0).join("; ")}`);
  }
  console.log(`opened ${ids.length} traces`);
  expect(empty).toEqual([]);
  await context.close();
}, 1_200_000);
