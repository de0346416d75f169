import { describe, expect, it } from "vitest";
import { again, alertSentence, entries, exampleSource, formatValue, limitText, loud, lowestLimit, matchersOf, readMatchers, reportPath, writeMatchers, type Alert, type Change } from "./alerts.ts";

type Instance = Alert["instances"][number];

function condition(value: string, at_least: number, over_s: number, more: Partial<Alert["conditions"][number][number]> = {}): Alert["conditions"][number][number] {
  return { value, per: "", over_s, at_least, instead: [], growth: 0, before_s: 0, forecast_s: 0, ...more };
}

function alert(name: string, more: Partial<Alert> = {}): Alert {
  return { name, severity: "page", sli: "", unit: "", meaning: "", do: "", guard: "", outside: false, within_s: 3600, state: "inactive", conditions: [], instances: [], ...more };
}

function instance(more: Partial<Instance> = {}): Instance {
  return { labels: { service: "shop" }, state: "firing", since: "2026-01-01T10:00:00Z", value: 1, summary: "it is bad", silenced: false, examples: [], ...more };
}

function change(more: Partial<Change> = {}): Change {
  return { at: "2026-01-01T09:00:00Z", name: "A", labels: { service: "shop" }, state: "resolved", value: 1, summary: "it was bad", examples: [], ...more };
}

const missed = alert("A", {
  unit: "ratio",
  conditions: [
    [condition("missed", 0.144, 3600, { per: "requests" }), condition("requests", 100, 3600)],
    [condition("missed", 0.06, 21_600, { per: "requests" })],
  ],
});

describe("entries", () => {
  it("puts what fires first, pages before tickets, and the newest before older ones", () => {
    const rows = [
      alert("Ticket", { severity: "ticket", instances: [instance({ since: "2026-01-01T12:00:00Z" })] }),
      alert("Waits", { instances: [instance({ state: "pending" })] }),
      alert("Page", { instances: [instance({ labels: { service: "old" } }), instance({ labels: { service: "new" }, since: "2026-01-01T11:00:00Z" })] }),
    ];
    expect(entries(rows, []).map((entry) => `${entry.alert.name} ${entry.labels.service}`)).toEqual(["Page new", "Page old", "Ticket shop", "Waits shop"]);
  });

  it("lists what was resolved last and did not come back, once", () => {
    const history = [
      change(), change({ at: "2026-01-01T08:00:00Z" }),
      change({ labels: { service: "b" }, state: "firing" }), change({ labels: { service: "b" }, at: "2026-01-01T07:00:00Z" }),
      change({ labels: { service: "active" } }),
      change({ name: "Gone", labels: { service: "c" } }),
      change({ labels: { service: "d" }, state: "inactive" }),
    ];
    const found = entries([alert("A", { instances: [instance({ labels: { service: "active" } })] })], history);
    expect(found.map((entry) => `${entry.state} ${entry.labels.service} ${entry.since}`)).toEqual(["firing active 2026-01-01T10:00:00Z", "resolved shop 2026-01-01T09:00:00Z"]);
  });
});

it("says in a sentence what fires", () => {
  expect(alertSentence([alert("A")])).toBe("No alert fires");
  expect(alertSentence([alert("A", { instances: [instance({ state: "pending" })] })])).toBe("No alert fires; 1 is pending");
  expect(alertSentence([alert("A", { instances: [instance({ silenced: true })] })])).toBe("One alert fires, silenced");
  expect(alertSentence([alert("A", { instances: [instance(), instance({ silenced: true }), instance({ state: "pending" }), instance({ state: "pending" })] })])).toBe("2 alerts fire, 1 of them silenced; 2 are pending");
});

it("counts as loud what fires and is not silenced", () => {
  expect(loud([alert("A", { instances: [instance(), instance({ silenced: true }), instance({ state: "pending" })] })]).map((one) => one.summary)).toEqual(["it is bad"]);
});

it("writes limits in the unit of the alert, one for each set that suffices", () => {
  expect(limitText(missed)).toBe("14.4 % in 1 h or 6 % in 6 h");
  expect(lowestLimit(missed, {})).toBe(0.06);
  const own = alert("A", { unit: "ratio", conditions: [[condition("missed", 0.144, 3600, { instead: [{ service: "shop", route: "/buy", at_least: 0.0144 }] })]] });
  expect(limitText(own)).toBe("14.4 % in 1 h");
  expect(limitText(own, { service: "shop", route: "/buy" })).toBe("1.44 % in 1 h");
  expect(lowestLimit(own, { service: "shop", route: "/buy" })).toBe(0.0144);
  expect(lowestLimit(own, { service: "shop", route: "/" })).toBe(0.144);
  expect(limitText(alert("B", { unit: "s", conditions: [[condition("worker_lag", 300, 0)]] }))).toBe("300 s");
  const eroding = alert("C", { unit: "s", conditions: [[condition("margin", 0, 604_800, { forecast_s: 1_209_600 })]] });
  expect(limitText(eroding)).toBe("zero within 14 d");
  expect(lowestLimit(eroding, {})).toBeNull();
  expect(formatValue(12_345, "")).toBe("12,345");
});

it("searches for what the alert counts", () => {
  expect(exampleSource({ alert: missed, labels: { service: "shop", route: "/buy" } })).toEqual({ from: "now-21600s", service: "shop", route: "/buy", class: "late_or_failed" });
  const renewed = alert("R", { conditions: [[condition("renewed_clocks", 3, 900)]] });
  expect(exampleSource({ alert: renewed, labels: { service: "shop", rule: "dropped_header" } })).toEqual({ from: "now-3600s", service: "shop", rule: "dropped_header" });
  expect(exampleSource({ alert: alert("W", { conditions: [[condition("worker_lag", 300, 0)]] }), labels: {} })).toBeNull();
});

it("leads to the report that says more", () => {
  expect(reportPath({ alert: missed, labels: { service: "shop", route: "/buy" } })).toEqual({ label: "Route", path: "/route?from=now-7d&service=shop&route=%2Fbuy" });
  expect(reportPath({ alert: alert("O", { conditions: [[condition("orphan_time", 60, 3600)]] }), labels: { service: "a", cause: "client_disconnect" } })?.path).toBe("/orphans?from=now-7d&service=a&cause=client_disconnect");
  expect(reportPath({ alert: alert("W", { conditions: [[condition("worker_lag", 300, 0)]] }), labels: {} })).toBeNull();
});

it("reads and writes the labels of a silence", () => {
  expect(readMatchers('alertname=OrphanWork, service = "shop"')).toEqual({ alertname: "OrphanWork", service: "shop" });
  expect(readMatchers("shop")).toContain("write service=shop");
  expect(readMatchers(" ")).toContain("at least one label");
  expect(writeMatchers(matchersOf({ alert: missed, labels: { route: "/buy", service: "shop" } }))).toBe("alertname=A, service=shop, route=/buy");
});

it("takes an ended silence up again for what was left of it", () => {
  const silence = { id: "1", matchers: { service: "shop" }, since: "2026-01-01T10:00:00Z", until: "2026-01-01T11:00:00Z", comment: "known", active: false };
  const now = Date.parse("2026-01-01T10:29:30Z");
  expect(again(silence, "2026-01-01T11:00:00Z", now)).toEqual({ matchers: { service: "shop" }, for: "31m", comment: "known" });
  expect(again(silence, "2026-01-01T10:00:00Z", now)).toBeNull();
});
