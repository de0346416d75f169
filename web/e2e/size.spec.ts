// What a first visit transfers, every file as compressed as the server sends it.
import { expect, it } from "vitest";
import { base, launch, open, settled, wide } from "./browser.ts";

const most = 350;

it(`the first page is at most ${most} KB compressed`, async () => {
  const browser = await launch();
  const { context, page } = await open(browser, wide);
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await page.goto(base());
  await settled(page);
  await page.waitForLoadState("networkidle");
  await browser.close();
  console.log(`figure first_page_gzip ${(bytes / 1024).toFixed(0)} KB`);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes / 1024).toBeLessThanOrEqual(most);
});
