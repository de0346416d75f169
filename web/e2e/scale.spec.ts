// How long each page takes to show what it has, against a Laxity filled beforehand: LAXITY_URL, and LAXITY_FROM for the window.
import { expect, it } from "vitest";
import { base, launch, open, settled, wide } from "./browser.ts";

const from = process.env["LAXITY_FROM"] ?? "now-7d";
// What somebody waits for without giving up.
const most = 10;

const names = ["", "alerts", "search", "findings", "changes", "stages", "dependencies", "phases", "reserves", "advice", "local", "orphans", "cancellations", "retries", "propagation", "conformance", "limits"];

it("every page is usable at scale", async () => {
  const browser = await launch();
  const health = (await (await fetch(`${base()}/api/v1/health`)).json()) as { data: { hops: number } | null };
  console.log(`hops ${health.data?.hops ?? 0}`);
  const slow: string[] = [];
  for (const name of names) {
    const { context, page, complaints } = await open(browser, wide);
    const began = performance.now();
    await page.goto(`${base()}/${name}?from=${from}`);
    await settled(page);
    const seconds = (performance.now() - began) / 1000;
    console.log(`figure page_${name || "overview"} ${seconds.toFixed(2)} s`);
    if (seconds > most || complaints.length > 0) slow.push(`/${name}: ${seconds.toFixed(1)} s ${complaints.join("; ")}`);
    await context.close();
  }
  await browser.close();
  expect(slow).toEqual([]);
}, 1_200_000);
