import { existsSync } from "node:fs";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

export async function launch(): Promise<Browser> {
  if (!existsSync(executablePath)) throw new Error(`no Chromium at ${executablePath}: run make web-chromium, or set CHROMIUM`);
  return chromium.launch({
    executablePath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

export interface View {
  theme: "light" | "dark";
  width: number;
  height: number;
}

export const wide: View = { theme: "light", width: 1440, height: 900 };
export const narrow: View = { theme: "light", width: 390, height: 844 };

export async function open(browser: Browser, view: View): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: view.width, height: view.height }, colorScheme: view.theme, reducedMotion: "reduce", timezoneId: "UTC", permissions: ["clipboard-read", "clipboard-write"] });
  // A machine that builds something else at the same time answers late; that is no fault of the page.
  context.setDefaultTimeout(90_000);
  const page = await context.newPage();
  return { context, page, complaints: listen(page) };
}

/** Collects what the page complains about: exceptions, console errors, failed requests of its own. */
export function listen(page: Page): string[] {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(`exception: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("response", (response) => {
    if (response.status() >= 500) complaints.push(`status ${response.status()}: ${response.url()}`);
  });
  return complaints;
}

/** Waits until nothing on the page is loading any more. */
export async function settled(page: Page): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".loading, .pending").length === 0);
  await page.evaluate(() => document.fonts.ready);
}

/** The address of the Laxity under test. */
export function base(): string {
  const address = process.env["LAXITY_URL"];
  if (!address) throw new Error("set LAXITY_URL to the address of a running Laxity, for example http://127.0.0.1:8484");
  return address.replace(/\/$/, "");
}
