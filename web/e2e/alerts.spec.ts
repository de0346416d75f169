// The page of alerts: silences against the server itself; alerts that fire, which take minutes of bad requests, from made answers.
import AxeBuilder from "@axe-core/playwright";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AlertHistory, AlertList } from "../src/api/shapes.ts";
import { base, launch, narrow, open, settled, wide, type View } from "./browser.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

async function answer<T>(path: string): Promise<T> {
  return (await (await fetch(`${base()}/api/v1${path}`)).json()) as T;
}

/** The server's own alerts, as if somebody were told, one fired, one were pending and one had been resolved. */
async function withFiring(page: Page): Promise<void> {
  const labels = { service: "shop", route: "POST /checkout/confirm" };
  const [since, last] = [20, 90].map((minutes) => new Date(Date.now() - minutes * 60_000).toISOString());
  const list = await answer<AlertList>("/alerts");
  const history = await answer<AlertHistory>("/alerts/history");
  const rows = list.rows.map((row): AlertList["rows"][number] => {
    if (row.name === "BudgetMissedFast") return { ...row, state: "firing", instances: [{ labels, state: "firing", since: since ?? "", value: 0.213, summary: "shop POST /checkout/confirm: 21.3 % of requests late or out of time, mostly price rates by upstream_timeout", silenced: false, examples: [{ trace_id: "0af7651916cd43dd8448eb211c80319c", title: "shop POST /checkout/confirm: Done, 0.3 s late", text: "shop  POST /checkout/confirm\n\n  opening 1 s\n" }] }] };
    if (row.name === "OrphanWork") return { ...row, state: "pending", instances: [{ labels: { service: "rates", stage: "convert", cause: "client_disconnect" }, state: "pending", since: since ?? "", value: 71, summary: "rates works 71 s for nobody", silenced: true, examples: [] }] };
    return { ...row, state: "inactive", instances: [] };
  });
  const firing: AlertList = { ...list, problem: "webhook hooks.example: status 503", tells: ["webhook hooks.example"], evaluated_at: new Date().toISOString(), rows };
  await page.route("**/api/v1/alerts", (route) => route.fulfill({ json: firing }));
  const gone: AlertHistory["rows"][number] = { at: last ?? "", name: "RenewedClock", labels: { service: "stock", stage: "reserve", rule: "renewed_clock" }, state: "resolved", value: 4, summary: "stock renewed its clock 4 times", examples: [] };
  const changes: AlertHistory = { ...history, rows: [gone] };
  await page.route("**/api/v1/alerts/history*", (route) => route.fulfill({ json: changes }));
}

async function expectNoBarrier(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]).analyze();
  expect(violations.filter((one) => one.impact === "serious" || one.impact === "critical").map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`)).toEqual([]);
}

it("says how to be told where nobody is", async () => {
  const { context, page, complaints } = await open(browser, wide);
  await page.goto(`${base()}/alerts`);
  await settled(page);
  await page.getByText("--alert-webhook https://").waitFor();
  await page.getByRole("region", { name: "Every alert" }).getByText("OrphanWork").waitFor();
  await expectNoBarrier(page);
  expect(complaints).toEqual([]);
  await context.close();
});

it("silences, ends the silence, and takes that back", async () => {
  const { context, page, complaints } = await open(browser, wide);
  const label = `alertname=OrphanWork, service=shop-${Date.now()}`;
  await page.goto(`${base()}/alerts`);
  await settled(page);
  const section = page.getByRole("region", { name: "Silences" });
  await section.getByLabel("Labels to silence").fill("shop");
  await section.getByRole("button", { name: "Silence", exact: true }).click();
  await section.getByRole("alert").getByText("write service=shop").waitFor();
  await section.getByLabel("Labels to silence").fill(label);
  await section.getByLabel("Comment").fill("rolling back");
  await section.getByRole("button", { name: "Silence", exact: true }).click();
  const end = section.getByRole("button", { name: `End the silence of ${label}` });
  await end.click();
  await end.waitFor({ state: "detached" });
  await section.getByRole("button", { name: "Undo" }).click();
  await end.waitFor();
  await end.click();
  await end.waitFor({ state: "detached" });
  expect(complaints).toEqual([]);
  await context.close();
});

it("tells the overview and the navigation of what fires, and tests who is told", async () => {
  const { context, page, complaints } = await open(browser, wide);
  await withFiring(page);
  await page.route("**/api/v1/alerts/BudgetMissedFast/test", (route) => route.fulfill({ json: { told: [{ to: "webhook hooks.example", error: "" }] } }));
  await page.goto(`${base()}/?from=now-7d`);
  await settled(page);
  await page.locator(".nav-count").first().waitFor();
  await page.getByRole("link", { name: /^BudgetMissedFast fires/ }).click();
  await page.waitForURL(/\/alerts/);
  await settled(page);
  expect(await page.locator("h1").textContent()).toBe("One alert fires; 1 is pending");
  expect(await page.locator(".alert-card h2").allTextContents()).toEqual(["BudgetMissedFast", "OrphanWork", "RenewedClock"]);
  await page.getByText("shop POST /checkout/confirm: Done, 0.3 s late").first().click();
  await page.getByText("opening 1 s").waitFor();
  expect(await page.getByRole("link", { name: "0af76519" }).getAttribute("href")).toBe("/traces/0af7651916cd43dd8448eb211c80319c");
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("webhook hooks.example: delivered").waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});

const views: [string, View][] = [["light", wide], ["dark", { ...wide, theme: "dark" }], ["narrow", narrow]];
it.each(views)("no serious barrier where alerts fire, %s", async (_, view) => {
  const { context, page } = await open(browser, view);
  await withFiring(page);
  await page.goto(`${base()}/alerts`);
  await settled(page);
  await page.locator(".alert-card").nth(2).waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  await expectNoBarrier(page);
  await context.close();
});
