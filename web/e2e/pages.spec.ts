// What a person does on the pages, against LAXITY_URL or, without it, against the API's golden answers.
import AxeBuilder from "@axe-core/playwright";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { base, launch, listen, narrow, open, settled, wide, type View } from "./browser.ts";

let browser: Browser;
let page: Page;
let complaints: string[];
let close: () => Promise<void>;

async function show(path: string, view: View = wide): Promise<void> {
  const opened = await open(browser, view);
  ({ page, complaints } = opened);
  close = () => opened.context.close();
  await page.goto(base() + path);
  await settled(page);
}

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

/** The first trace that the search finds, whatever is stored. */
async function anyTrace(): Promise<string> {
  const answer = await fetch(`${base()}/api/v1/traces?from=1970-01-01T00:00:00Z&limit=1`);
  const { rows } = (await answer.json()) as { rows: { trace_id: string }[] };
  const [row] = rows;
  if (!row) throw new Error("no trace is stored; import some first");
  return row.trace_id;
}

describe("from the morning look to one trace", () => {
  afterEach(() => close());

  it("leads from a route to its traces to a statement", async () => {
    await show("/?from=1970-01-01T00:00:00Z");
    await page.locator(".routes tbody a").first().click();
    await page.waitForURL(/\/search\?.*route=/);
    await settled(page);
    await page.locator(".results a.open").first().click();
    await page.waitForURL(/\/traces\/[0-9a-f]{32}/);
    await settled(page);
    expect(await page.locator(".ledger-row").count()).toBeGreaterThan(1);
    expect(await page.locator(".wf-row").count()).toBeGreaterThan(0);
    expect(complaints).toEqual([]);
  });

  it("goes the same way by keyboard alone", async () => {
    await show("/?from=1970-01-01T00:00:00Z");
    await page.keyboard.press("t");
    await page.waitForURL(/\/search/);
    await settled(page);
    await page.locator(".results tbody tr").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/traces\//);
    await settled(page);
    await page.keyboard.press("j");
    await page.waitForURL(/line=/);
    expect(await page.locator(".ledger-row.selected").count()).toBe(1);
    await page.keyboard.press("Escape");
    await page.waitForURL((url) => !url.search.includes("line="));
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    expect(complaints).toEqual([]);
  });

  it("opens a pasted traceparent", async () => {
    const id = await anyTrace();
    await show("/");
    await page.keyboard.press("/");
    await page.keyboard.type(`00-${id}-00f067aa0ba902b7-01`);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/traces/${id}`);
  });

  it("says when there is no id in what was pasted", async () => {
    await show("/");
    await page.getByLabel("Open a trace by its id").fill("why is it late");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("no trace id");
  });
});

describe("a trace", () => {
  let id: string;
  beforeEach(async () => {
    id = await anyTrace();
    await show(`/traces/${id}`);
  });
  afterEach(() => close());

  it("links lines with spans both ways and keeps the choice in the address", async () => {
    await page.locator(".ledger-row:not(.outside-title)").nth(1).click();
    await page.waitForURL(/line=\d+/);
    expect(await page.locator(".wf-row.selected").count()).toBe(1);
    const link = page.url();
    await page.goto(link);
    await settled(page);
    expect(await page.locator(".ledger-row.selected").count()).toBe(1);
    await page.locator(".wf-row").first().click();
    await page.locator(".span-detail").waitFor();
    expect(complaints).toEqual([]);
  });

  it("copies itself as Markdown", async () => {
    await page.getByRole("button", { name: "Copy as Markdown" }).click();
    await page.getByText("Copied").first().waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^# /);
  });
});

describe("problems", () => {
  afterEach(() => close());

  it("says that a trace is not stored", async () => {
    await show("/traces/0000000000000000000000000000dead");
    expect(await page.locator("main").textContent()).toContain("not stored");
  });

  it("shows the server's own words and advice", async () => {
    await show("/search?from=yesterday");
    const text = await page.locator("main").textContent();
    expect(text).toContain("yesterday");
    expect(text).toContain("now-7d");
  });

  it("keeps old data in sight when refreshing fails, and says so", async () => {
    const opened = await open(browser, wide);
    ({ page } = opened);
    close = () => opened.context.close();
    await page.clock.install();
    await page.goto(`${base()}/?from=1970-01-01T00:00:00Z`);
    await page.locator(".routes tbody tr").first().waitFor();
    await page.route("**/api/v1/reports/margin*", (route) => route.abort());
    const said = page.getByText("Refreshing them failed");
    // The refresh after 30 s and two more tries have to fail first.
    for (let i = 0; i < 30 && !(await said.isVisible()); i++) await page.clock.runFor(5_000);
    expect(await said.isVisible()).toBe(true);
    expect(await page.locator(".routes tbody tr").count()).toBeGreaterThan(0);
  });

  it("says how to send the first trace", async () => {
    const opened = await open(browser, wide);
    ({ page } = opened);
    close = () => opened.context.close();
    complaints = listen(page);
    await page.route("**/api/v1/health", async (route) => {
      const body = (await (await route.fetch()).json()) as { data: object };
      await route.fulfill({ json: { ...body, data: { hops: 0, spans: 0, newest_at: null } } });
    });
    await page.goto(`${base()}/`);
    await page.getByText("No traces yet").waitFor();
    const text = (await page.locator("main").textContent()) ?? "";
    for (const recipe of ["OTEL_EXPORTER_OTLP_ENDPOINT=http://", "laxity import", "laxity demo"]) expect(text).toContain(recipe);
  });
});

describe("everybody can use it", () => {
  afterEach(() => close());

  const views: [string, View][] = [["light", wide], ["dark", { ...wide, theme: "dark" }], ["narrow", narrow]];
  it.each(views)("no serious barrier on any page, %s", async (_, view) => {
    const id = await anyTrace();
    // A few rows of each kind are enough: the time of the check grows with the page.
    for (const path of ["/?from=now-7d", "/search?from=now-7d&outcome=degraded", `/traces/${id}`]) {
      await show(path, view);
      const { violations } = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]).analyze();
      const serious = violations.filter((violation) => violation.impact === "serious" || violation.impact === "critical");
      expect(serious.map((violation) => `${path}: ${violation.id}: ${violation.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${path} scrolls sideways`).toBe(true);
      if (path.startsWith("/traces")) continue;
      await close();
    }
  }, 180_000);
});
