import { expect, it } from "vitest";
import { toCSV } from "./csv.ts";
import { curlOf, reportParams } from "./reports.ts";

it("asks a report only for what it knows", () => {
  expect(reportParams("orphans", { from: "now-1h", to: "", service: "a", route: "/b", late: "true" })).toEqual({ from: "now-1h", service: "a" });
});

it("TestIssueCurlAsksTheSame: writes the same question, with as many rows as the page shows, for the command line", () => {
  expect(curlOf("http://x:1", "/reports/local", { service: "it's" }, false)).toBe("curl -s 'http://x:1/api/v1/reports/local?service=it%27s&limit=1000'");
  expect(curlOf("http://x:1", "/reports/local", {}, true)).toContain('-H "Authorization: Bearer $LAXITY_TOKEN"');
});

it("writes rows as CSV", () => {
  const rows = [
    { stage: 'say "hi", twice', spend_s: 0.5, decisions: { skip: 2 }, ids: ["a", "b"], peer: null },
    { stage: "=HYPERLINK(1)", spend_s: -1, decisions: {}, ids: [], peer: "p" },
  ];
  expect(toCSV(rows)).toBe('stage,spend_s,decisions.skip,ids,peer\r\n"say ""hi"", twice",0.5,2,a b,\r\n\'=HYPERLINK(1),-1,,,p\r\n');
  expect(toCSV([])).toBe("\r\n");
});
