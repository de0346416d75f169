// What every page holds to: problems that say what to do, links between parts, no barrier.
import { readFileSync } from "node:fs";
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

/** The page of the first route of the report, whatever is stored. */
async function anyRoute(): Promise<string> {
  const answer = await fetch(`${base()}/api/v1/reports/margin?from=now-7d&limit=1`);
  const { rows } = (await answer.json()) as { rows: { service: string; route: string }[] };
  return `/route?${new URLSearchParams({ service: rows[0]?.service ?? "", route: rows[0]?.route ?? "", from: "now-7d" })}`;
}

/** A file of values that hold no comma. */
function readCSV(path: string): { columns: string[]; lines: string[][] } {
  const [columns = [], ...lines] = readFileSync(path, "utf8").trim().split("\r\n").map((line) => line.split(","));
  return { columns, lines };
}

/** The first trace that the search finds, whatever is stored. */
async function anyTrace(): Promise<string> {
  const answer = await fetch(`${base()}/api/v1/traces?from=1970-01-01T00:00:00Z&limit=1`);
  const { rows } = (await answer.json()) as { rows: { trace_id: string }[] };
  const [row] = rows;
  if (!row) throw new Error("no trace is stored; import some first");
  return row.trace_id;
}

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

  it("prints its statement line under line, then its waterfall, without what only a screen needs", async () => {
    const pdf = await page.pdf({ format: "A4" });
    expect(pdf.subarray(0, 4).toString()).toBe("%PDF");
    await page.emulateMedia({ media: "print" });
    const rows = await page.locator(".ledger-row").evaluateAll((all) => all.map((row) => row.getBoundingClientRect()).map(({ top, bottom }) => ({ top, bottom })));
    expect(rows.length).toBeGreaterThan(0);
    rows.slice(1).forEach((row, i) => expect(Math.abs(row.top - (rows[i]?.bottom ?? 0))).toBeLessThan(8));
    expect(await page.locator(".shell-head, .pane-tabs, .pane-bar .button").evaluateAll((all) => all.filter((one) => (one as HTMLElement).offsetParent !== null).length)).toBe(0);
    expect(await page.locator(".wf-row").first().isVisible()).toBe(true);
  });

  it("copies itself as Markdown", async () => {
    await page.getByRole("button", { name: "Copy as Markdown" }).click();
    await page.getByText("Copied").first().waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^# /);
  });
});

describe("a search", () => {
  afterEach(() => close());

  it("leaves out what is clicked away, over the whole window, and keeps that in the address", async () => {
    await show("/search?from=now-7d");
    const facet = page.locator(".facets li", { hasText: "Done" }).first();
    await facet.hover();
    const asked = page.waitForRequest((request) => request.url().includes("/traces?") && request.url().includes("not.outcome=done"));
    await facet.getByRole("button", { name: "Without Done" }).click();
    await asked;
    await page.waitForURL(/not\.outcome=done/);
    await settled(page);
    const answer = await fetch(`${base()}/api/v1/traces?from=now-7d&not.outcome=done&limit=100`);
    const { rows } = (await answer.json()) as { rows: { outcome: string }[] };
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter((row) => row.outcome === "done")).toEqual([]);
    await page.goto(page.url());
    await settled(page);
    await page.getByRole("button", { name: "Take back: without Done" }).click();
    await page.waitForURL((url) => !url.search.includes("not."));
    expect(complaints).toEqual([]);
  });
});

describe("a search outside the page", () => {
  afterEach(() => close());

  it("is a command that asks the same, and a file of what it finds", async () => {
    await show("/search?from=now-7d&service=edge&not.outcome=done");
    await page.getByRole("button", { name: "curl" }).click();
    await page.getByText("Copied").first().waitFor();
    const [, asked = ""] = /'(http[^']*)'/.exec(await page.evaluate(() => navigator.clipboard.readText())) ?? [];
    const { rows } = (await (await fetch(asked)).json()) as { rows: { service: string; outcome: string }[] };
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter((row) => row.service !== "edge" || row.outcome === "done")).toEqual([]);

    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
    expect(download.suggestedFilename()).toBe("laxity-traces.csv");
    const { columns, lines } = readCSV(await download.path());
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.filter((line) => line[columns.indexOf("service")] !== "edge" || line[columns.indexOf("outcome")] === "done")).toEqual([]);
    await page.getByRole("button", { name: "CSV" }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("keeps what was found when it is stopped", async () => {
    await show("/search?from=now-7d");
    let asked = 0;
    await page.route(/\/api\/v1\/traces\?.*limit=1000/, async (route) => {
      if (asked++ > 0) return; // what is asked further never answers
      const answer = (await (await route.fetch()).json()) as object;
      await route.fulfill({ json: { ...answer, next: "on" } });
    });
    await page.getByRole("button", { name: "CSV" }).click();
    const stop = page.getByRole("button", { name: /found, stop$/ });
    const [download] = await Promise.all([page.waitForEvent("download"), stop.click()]);
    expect(readCSV(await download.path()).lines.length).toBeGreaterThan(0);
  });
});

describe("a report", () => {
  afterEach(() => close());

  it("leaves out a value that is clicked away, in the address, CSV and curl, and takes it back", async () => {
    await show("/orphans?from=now-7d");
    const owners = () => page.locator(".report a.open > bdi").allTextContents();
    const [owner = ""] = await owners();
    expect(new Set(await owners()).size).toBeGreaterThan(1);
    const row = page.locator(".report tbody tr").first();
    await row.hover();
    await row.getByRole("button", { name: `Without Service: ${owner}` }).click();
    await page.waitForURL((url) => url.searchParams.get("not.service") === owner);
    await page.waitForFunction((name) => [...document.querySelectorAll(".report a.open > bdi")].every((cell) => cell.textContent !== name), owner);
    expect((await owners()).length).toBeGreaterThan(0);

    await page.getByRole("button", { name: "curl" }).click();
    await page.getByText("Copied").first().waitFor();
    const [, asked = ""] = /'(http[^']*)'/.exec(await page.evaluate(() => navigator.clipboard.readText())) ?? [];
    expect(new URL(asked).searchParams.getAll("not.service")).toEqual([owner]);
    const { rows } = (await (await fetch(asked)).json()) as { rows: { service: string }[] };
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter((one) => one.service === owner)).toEqual([]);

    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
    const { columns, lines } = readCSV(await download.path());
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.filter((line) => line[columns.indexOf("service")] === owner)).toEqual([]);

    await page.goto(page.url());
    await settled(page);
    await page.getByRole("button", { name: `Take back: without Service: ${owner}` }).click();
    await page.waitForURL((url) => !url.search.includes("not."));
    await page.waitForFunction((name) => [...document.querySelectorAll(".report a.open > bdi")].some((cell) => cell.textContent === name), owner);
    expect(complaints).toEqual([]);
  });

  it("leaves out what stands below a name, by keyboard", async () => {
    await show("/stages?from=now-7d");
    const service = page.locator(".report tbody tr").first().locator("td").first().locator(".below .filter-value").first();
    const name = (await service.textContent()) ?? "";
    await service.focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.searchParams.get("not.service") === name);
    await settled(page);
    await page.waitForFunction((gone) => [...document.querySelectorAll(".report td:first-child .below > span:first-child .filter-value")].every((one) => one.textContent !== gone), name);
    expect(complaints).toEqual([]);
  });
});

describe("propagation", () => {
  afterEach(() => close());

  it("lists who calls whom where there is no room for a map, and leads on", async () => {
    await show("/propagation?from=now-7d", narrow);
    const list = page.locator(".flow-list");
    await list.locator("a").first().waitFor();
    expect(await page.locator(".flow").count()).toBe(0);
    expect(await list.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
    const said = (await list.locator("a.bad").first().getAttribute("aria-label")) ?? "";
    expect(said).toContain("renewed");
    await list.locator("a.bad").first().click();
    await page.waitForURL(/\/search\?.*rule=renewed_clock/);
    expect(complaints).toEqual([]);
  });

  it("draws a loop where a service calls itself", async () => {
    const opened = await open(browser, wide);
    ({ page, complaints } = opened);
    close = () => opened.context.close();
    await page.route("**/api/v1/reports/propagation*", async (route) => {
      const answer = (await (await route.fetch()).json()) as { rows: { from: string; to: string }[] };
      const [row] = answer.rows;
      await route.fulfill({ json: { ...answer, rows: row ? [...answer.rows, { ...row, to: row.from }] : [] } });
    });
    await page.goto(`${base()}/propagation?from=now-7d`);
    await settled(page);
    const loop = page.getByRole("link", { name: /to itself/ });
    const [line, plate] = await Promise.all([loop.locator(".shaft").boundingBox(), loop.locator(".plate").boundingBox()]);
    // Some of it is seen above its label.
    expect((plate?.y ?? 0) - (line?.y ?? 0)).toBeGreaterThan(8);
    expect(complaints).toEqual([]);
  });
});

describe("a route", () => {
  afterEach(() => close());

  it("leads from a cell of the heat map to its traces, by keyboard", async () => {
    await show(await anyRoute());
    const cell = page.locator(".heat-plane a[tabindex='0']");
    await cell.focus({ timeout: 240_000 }); // a worker judges the history first
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowRight");
    await cell.focus();
    const said = (await cell.getAttribute("aria-label")) ?? "";
    const link = page.locator(".heat-cell a");
    await link.waitFor();
    const [, seen = "1"] = /these ([\d,]+) traces/.exec((await link.textContent()) ?? "") ?? [];
    await page.keyboard.press("Enter");
    await page.waitForURL(seen === "1" ? /traces\// : /margin_lt|margin_gt/);
    await settled(page);
    // A worker that is still judging adds to the cell; the search reads them already.
    if (seen !== "1") expect(parseInt((await page.locator(".facts b").first().textContent()) ?? "0"), said).toBeGreaterThanOrEqual(Math.min(100, Number(seen.replace(",", ""))));
    expect(complaints).toEqual([]);
  });
});

describe("advice", () => {
  afterEach(() => close());

  it("leaves out a dependency that is clicked away, in the table, the file and the command", async () => {
    await show("/advice?from=now-7d");
    const first = page.getByRole("region", { name: "Dependencies, table" }).first().locator("tbody tr").first();
    const service = (await first.locator(".below .filter-value").first().textContent()) ?? "";
    await first.hover();
    await first.getByRole("button", { name: `Without Service: ${service}` }).click();
    await page.waitForURL((url) => url.searchParams.get("not.service") === service);
    await page.waitForFunction((gone) => [...document.querySelectorAll(".report .below .filter-value")].every((one) => one.textContent !== gone), service);
    expect(await page.getByRole("region", { name: "Command" }).textContent()).toBe(`laxity policy --since 7d --not service=${service}`);
    await page.getByText("Show the file").click();
    await page.waitForFunction((gone) => !(JSON.parse(document.querySelector("pre.file")?.textContent ?? "{}") as { dependencies?: { service: string }[] }).dependencies?.some((one) => one.service === gone), service);
    expect(complaints).toEqual([]);
  });

  it("is the file that the command writes", async () => {
    await show("/advice?from=now-7d");
    await page.getByText("Show the file").click();
    const text = (await page.locator("pre.file").textContent()) ?? "";
    const file = JSON.parse(text) as { version: number; dependencies: { service: string; why: object }[] };
    expect(file.version).toBe(1);
    expect(file.dependencies.length).toBeGreaterThan(0);
    expect(await page.getByRole("region", { name: "Command" }).textContent()).toBe("laxity policy --since 7d");
    await page.getByRole("region", { name: "Policy file" }).getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByText("Copied").first().waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(text);
    expect(complaints).toEqual([]);
  });
});

describe("problems", () => {
  afterEach(() => close());

  it("says when there is no id in what was pasted", async () => {
    await show("/");
    await page.keyboard.press("/");
    await page.keyboard.type("why is it late");
    expect(await page.getByRole("dialog").getByRole("status").textContent()).toContain("no trace id");
  });

  it("says how to type a time range", async () => {
    await show("/orphans");
    await page.keyboard.press("d");
    await page.keyboard.type("soon");
    await page.keyboard.press("Enter");
    expect(await page.getByRole("dialog").getByRole("alert").textContent()).toContain("yesterday");
  });

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

  it.each([
    ["that judging is behind", 60, /findings of the last \d+ min are missing/],
    ["that nothing is judged, instead of that all is well", null, /nothing is judged yet/],
  ])("says %s", async (_, minutes, said) => {
    const watermark = minutes && new Date(Date.now() - minutes * 60_000).toISOString();
    const opened = await open(browser, wide);
    ({ page, complaints } = opened);
    close = () => opened.context.close();
    await page.route("**/api/v1/reports/orphans*", async (route) => {
      const answer = (await (await route.fetch()).json()) as object;
      await route.fulfill({ json: { ...answer, watermark, ...(watermark ? {} : { rows: [] }) } });
    });
    for (const path of ["/?from=now-7d", "/orphans?from=now-7d"]) {
      await page.goto(base() + path);
      await settled(page);
      await page.locator(".facts .warn", { hasText: said }).waitFor();
    }
    if (!watermark) {
      expect(await page.locator("h1").first().textContent()).toBe("Nothing is judged yet");
      await page.getByText("laxity worker").last().waitFor();
    }
    expect(complaints).toEqual([]);
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

  const reports = ["alerts", "findings", "stages", "dependencies", "phases", "local", "orphans", "cancellations", "retries", "propagation", "conformance", "limits", "reserves", "advice", "changes"].map((name) => `/${name}?from=now-7d`);
  // A few rows of each kind are enough: the time of the check grows with the page.
  const views: [string, View][] = [["light", wide], ["dark", { ...wide, theme: "dark" }], ["narrow", narrow]];
  it.each(views)("no serious barrier on any page, %s", async (name, view) => {
    const opened = await open(browser, view);
    ({ page } = opened);
    close = () => opened.context.close();
    for (const path of ["/?from=now-7d", await anyRoute(), "/search?from=now-7d&outcome=degraded", `/traces/${await anyTrace()}`, ...reports]) {
      await page.goto(base() + path);
      await settled(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${path} scrolls sideways`).toBe(true);
      // The reports are built alike: in dark those with a picture of their own stand for the others, narrow one of them does, and the page of alerts is like none.
      if (name === "dark" && reports.includes(path) && !/alerts|advice|dependencies|propagation|cancellations|changes/.test(path)) continue;
      if (name === "narrow" && reports.includes(path) && !/alerts|orphans/.test(path)) continue;
      const { violations } = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]).analyze();
      const serious = violations.filter((violation) => violation.impact === "serious" || violation.impact === "critical");
      expect(serious.map((violation) => `${path}: ${violation.id}: ${violation.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`)).toEqual([]);
    }
  }, 600_000);

  it.each([["the palette", "/"], ["the help sheet", "?"], ["the time picker", "d"]])("no serious barrier in %s", async (_, key) => {
    await show("/?from=now-7d");
    await page.keyboard.press(key);
    await page.getByRole("dialog").waitFor();
    const { violations } = await new AxeBuilder({ page }).include("dialog, [role=dialog]").withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]).analyze();
    expect(violations.filter((violation) => violation.impact === "serious" || violation.impact === "critical").map((violation) => violation.id)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });
});
