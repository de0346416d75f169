// Five ways through the pages, from a question to its answer; two of them without a mouse.
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { base, launch, open, settled, wide } from "./browser.ts";

let browser: Browser;
let page: Page;
let complaints: string[];
let close: () => Promise<void>;

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());
beforeEach(async () => {
  const opened = await open(browser, wide);
  ({ page, complaints } = opened);
  close = () => opened.context.close();
});
afterEach(() => close());

async function go(path: string): Promise<void> {
  await page.goto(base() + path);
  await settled(page);
}

/** Waits for an address and for what it shows. */
async function arrive(where: RegExp): Promise<void> {
  await page.waitForURL(where);
  await settled(page);
}

async function expectStatement(): Promise<void> {
  await page.locator(".ledger-row").nth(1).waitFor();
  await page.locator(".wf-row").first().waitFor();
  expect(complaints).toEqual([]);
}

async function anyTrace(): Promise<string> {
  const answer = await fetch(`${base()}/api/v1/traces?from=1970-01-01T00:00:00Z&limit=1`);
  const { rows } = (await answer.json()) as { rows: { trace_id: string }[] };
  if (!rows[0]) throw new Error("no trace is stored; import some first");
  return rows[0].trace_id;
}

describe("journeys", () => {
  it("morning look: what needs attention, the route, one of its traces", async () => {
    await go("/?from=now-7d");
    await page.locator(".concern a").first().waitFor();
    await page.locator(".routes tbody a").first().click();
    await arrive(/\/route\?/);
    await page.locator(".chart svg").first().waitFor();
    await page.getByRole("link", { name: "Traces", exact: true }).last().click();
    await arrive(/\/search\?.*route=/);
    await page.locator(".results a.open").first().click();
    await arrive(/\/traces\/[0-9a-f]{32}/);
    await expectStatement();
  });

  it("the same look by keyboard alone", async () => {
    await go("/?from=now-7d");
    await page.locator(".routes tbody tr").first().waitFor();
    await page.keyboard.press("j");
    await page.locator(".routes tr.current").waitFor();
    await page.keyboard.press("Enter");
    await arrive(/\/route\?/);
    await page.keyboard.press("t");
    await arrive(/\/search/);
    await page.locator(".results tbody tr").first().waitFor();
    await page.keyboard.press("j");
    await page.locator(".results tr.current").waitFor();
    await page.keyboard.press("Enter");
    await arrive(/\/traces\//);
    await page.locator(".ledger-row").nth(1).waitFor();
    await page.keyboard.press("j");
    await page.waitForURL(/line=/);
    await page.locator(".ledger-row.selected").waitFor();
    await page.keyboard.press("l");
    await page.waitForURL(/view=waterfall/);
    await page.keyboard.press("Escape");
    await page.waitForURL((url) => !url.search.includes("line="));
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    expect(complaints).toEqual([]);
  });

  it("alert link: orphan work, who it is, what it was", async () => {
    await go("/orphans?from=now-7d&sort=-post_cancel_s");
    await page.locator(".report tbody tr").first().waitFor();
    const owner = (await page.locator(".report tbody tr").first().locator("a.open > bdi").first().textContent()) ?? "";
    expect(await page.locator("h1").textContent()).toMatch(/work/);
    await page.getByLabel("Service", { exact: true }).selectOption(owner);
    await arrive(/service=/);
    await page.waitForFunction((name) => [...document.querySelectorAll(".report a.open > bdi")].every((cell) => cell.textContent === name), owner);
    await page.locator(".trace-links a").first().click();
    await arrive(/\/traces\/[0-9a-f]{32}/);
    await expectStatement();
  });

  it("an id from a log line, by keyboard alone", async () => {
    const id = await anyTrace();
    await go("/");
    await page.keyboard.press("/");
    await page.getByRole("combobox").waitFor();
    await page.keyboard.type(`level=error trace=00-${id}-00f067aa0ba902b7-01`);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/traces/${id}`);
    await settled(page);
    await expectStatement();
  });

  it("a renewed clock: the edge on the map, a trace with it, the violation by key", async () => {
    await go("/propagation?from=now-7d");
    await page.locator(".flow-edge.bad").first().waitFor();
    expect(await page.locator(".flow-edge.bad").first().getAttribute("aria-label")).toContain("renewed");
    await page.locator(".flow-edge.bad .plate").first().click();
    await arrive(/\/search\?.*rule=renewed_clock/);
    await page.locator(".results a.open").first().click();
    await arrive(/\/traces\//);
    await expectStatement();
    await page.locator(".findings").getByText("Renewed clock").first().waitFor();
    await page.keyboard.press("n");
    await page.locator(".wf-row.selected").waitFor();
  });

  it("before and after a deployment: from its mark to why margins moved", async () => {
    const title = `release ${Date.now()}`;
    const written = await fetch(`${base()}/api/v1/markers`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ at: "now-12h", title }) });
    expect(written.status).toBe(201);
    await go("/?from=now-1d");
    await page.getByRole("button", { name: new RegExp(title) }).click();
    await arrive(/\/changes\?.*marker=/);
    await page.getByText(`around ${title}`).waitFor();
    await page.locator(".report tbody tr, .nothing-here").first().waitFor();
    expect(complaints).toEqual([]);
  });

  it("before and after: a route against the time just before", async () => {
    await go("/?from=now-1d");
    await page.keyboard.press("d");
    await page.getByRole("dialog", { name: "Time range" }).getByLabel("the same length just before").check();
    await page.waitForURL(/compare=before/);
    await page.keyboard.press("Escape");
    await page.getByText(/^was /).first().waitFor();
    await page.locator(".routes tbody a").first().click();
    await arrive(/\/route\?.*compare=before/);
    await page.getByText("against just before").first().waitFor();
    await page.getByText(/just before/).first().waitFor();
    expect(complaints).toEqual([]);
  });
});
