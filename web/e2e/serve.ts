import { preview } from "vite";

/** Without LAXITY_URL the built page is served over the API's golden answers. */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env["LAXITY_URL"]) return undefined;
  const server = await preview({ preview: { host: "127.0.0.1", port: 0 } });
  const url = server.resolvedUrls?.local[0];
  if (!url) throw new Error("the preview server has no address");
  process.env["LAXITY_URL"] = url;
  process.env["LAXITY_FIXTURES"] = "1";
  return () => server.close();
}
