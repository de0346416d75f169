// Names that somebody chose without a thought for tables and addresses.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { base, launch, narrow, open, settled, wide, type View } from "./browser.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const long = "x".repeat(256);
const odd = "/a%2Fb%20c&d=e#f+g?<script>alert(1)</script>";

function row(service: string, route: string) {
  return {
    service, route, requests: 1234, with_budget: 1234, answered: 1234, late: 0, exhausted: 0, missed_ratio: 0, margin_p05_s: 0.4, margin_p50_s: 0.5, margin_p95_s: 0.6,
    budget_p50_s: 1, used_p50: 0.5, provisional: false, buckets: [], trend: null, week_ago: null,
  };
}

it.each<[string, View]>([["wide", wide], ["narrow", narrow]])("TestIssueNamesOfAnyKind: the overview stays readable and its links keep every character, %s", async (_, view) => {
  const { context, page, complaints } = await open(browser, view);
  page.on("dialog", (dialog) => {
    complaints.push(`ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const reported = { from: "2026-01-30T00:00:00Z", to: "2026-01-31T00:00:00Z", bucket_s: 3600 };
  await page.route("**/api/v1/reports/margin?*", (route) => route.fulfill({ json: { window: reported, watermark: null, provisional: false, rows: [row("shop", odd), row(long, `/${long}`)], next: null } }));
  await page.goto(`${base()}/`);
  await settled(page);
  const count = await page.locator(".routes tbody tr").last().locator("td[data-label=Requests]").boundingBox();
  expect((count?.x ?? view.width) + (count?.width ?? 0)).toBeLessThanOrEqual(view.width);
  const asked = page.waitForRequest((request) => request.url().includes("/api/v1/reports/margin?") && request.url().includes("route="));
  await page.locator(".routes tbody a", { hasText: "/a%2Fb" }).click();
  expect(new URL((await asked).url()).searchParams.get("route")).toBe(odd);
  await page.waitForFunction((name) => document.querySelector("h1")?.textContent === name, odd);
  await page.goto(`${base()}/route?${new URLSearchParams({ service: long, route: `/${long}` })}`);
  await settled(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  expect(complaints.filter((one) => !one.includes("404") && !one.includes("400"))).toEqual([]);
  await context.close();
});

it("TestIssueWayOn: an address that cannot be read leads on instead of asking the same again", async () => {
  const { context, page } = await open(browser, wide);
  await page.goto(`${base()}/traces/not-an-id`);
  await page.getByRole("link", { name: "Search traces" }).waitFor();
  expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
  await page.goto(`${base()}/orphans?from=yesterday`);
  await page.getByRole("link", { name: /^Start without filters/ }).click();
  await page.waitForURL((url) => url.search === "");
  await settled(page);
  await context.close();
});

it("TestIssueManyRows: a report of a thousand rows draws those on top, and all when asked", async () => {
  const { context, page, complaints } = await open(browser, wide);
  const rows = Array.from({ length: 1000 }, (_, i) => ({
    service: "shop", route: "/", stage: `stage ${i}`, peer: "stock", calls: i + 1, degraded: 0, degraded_ratio: 0, spend_p50_s: 1, spend_p95_s: 1, decisions: { run: i + 1 }, causes: {}, phases: {}, trend: null,
  }));
  const reported = { from: "2026-01-30T00:00:00Z", to: "2026-01-31T00:00:00Z", bucket_s: null };
  await page.route("**/api/v1/reports/stages?*", (route) => route.fulfill({ json: { window: reported, watermark: "2026-01-31T00:00:00Z", provisional: false, rows, next: null } }));
  await page.goto(`${base()}/stages?sort=-calls`);
  await settled(page);
  expect(await page.locator(".report tbody tr").count()).toBe(200);
  expect(await page.locator(".report tbody tr").first().textContent()).toContain("stage 999");
  await page.getByRole("button", { name: "Show all" }).click();
  await expect.poll(() => page.locator(".report tbody tr").count()).toBe(1000);
  expect(complaints).toEqual([]);
  await context.close();
});
