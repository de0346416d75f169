import { describe, expect, it } from "vitest";
import { findTraceID, readFilters, searchPath, windowOf, withFilter } from "./filters.ts";

describe("filters", () => {
  it("reads what the URL says and defaults the window", () => {
    expect(readFilters(new URLSearchParams("service=checkout&late=true&bogus=1"))).toEqual({
      from: "now-24h", service: "checkout", late: "true",
    });
  });

  it("removes a filter set to nothing and leaves out the default window", () => {
    expect(withFilter(new URLSearchParams("service=a&from=now-24h"), { service: "" }).toString()).toBe("");
  });

  it("keeps an explicit end of the window", () => {
    expect(searchPath({ from: "now-24h", to: "2026-01-01T00:00:00Z" })).toBe(
      "/search?from=now-24h&to=2026-01-01T00%3A00%3A00Z",
    );
  });

  it("keeps the window between pages and nothing else", () => {
    expect(windowOf(new URLSearchParams("from=now-7d&compare=week&service=a")).toString()).toBe("from=now-7d&compare=week");
  });
});

describe("findTraceID", () => {
  const id = "4bf92f3577b34da6a3ce929d0e0e4736";
  it.each([
    ["an id", id],
    ["upper case", ` ${id.toUpperCase()}\n`],
    ["a traceparent", `00-${id}-00f067aa0ba902b7-01`],
    ["a URL", `http://localhost:8484/traces/${id}?line=3`],
    ["a UUID", "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"],
  ])("finds it in %s", (_, text) => expect(findTraceID(text)).toBe(id));

  it("pads a short id", () => expect(findTraceID("a3ce929d0e0e4736")).toBe("0000000000000000a3ce929d0e0e4736"));
  it("finds none in words", () => expect(findTraceID("why is checkout late")).toBeNull());
});
