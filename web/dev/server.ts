import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Plugin } from "vite";
import { wideStatement, wideTrace, wideTraceID } from "./wide.ts";

const golden = new URL("../../api/testdata/", import.meta.url);

interface Answer {
  status: number;
  type: string;
  body: string;
}

/** Serves the API's golden answers, so that the page can be worked on without a server. */
export function fixtureServer(): Plugin {
  const handle = (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (!url.pathname.startsWith("/api/v1/")) return next();
    const { status, type, body } = answer(url.pathname.slice("/api/v1".length), url.searchParams);
    response.writeHead(status, { "Content-Type": type }).end(body);
  };
  return {
    name: "laxity-fixtures",
    configureServer: (server) => void server.middlewares.use(handle),
    configurePreviewServer: (server) => void server.middlewares.use(handle),
  };
}

export function answer(path: string, query: URLSearchParams): Answer {
  if (query.get("from") === "yesterday") return { status: 400, type: "application/problem+json", body: file("problem.json") };
  const trace = /^\/traces\/([0-9a-f]+)(\/\w+)?$/.exec(path);
  if (trace) return traceAnswer(trace[1] ?? "", trace[2] ?? "", query);
  const empty = query.get("service") === "nobody";
  switch (path) {
    case "/health": return json(file("health.json"));
    case "/services": return json(file("services.json"));
    case "/reports/margin": return json(empty ? withoutRows("margin.json") : file("margin.json"));
    case "/traces": return json(empty ? withoutRows("traces.json") : file("traces.json"));
  }
  return problem(404, "Not found", `there is no ${path}`);
}

/** One golden trace stands for every trace that the golden search finds. */
function traceAnswer(id: string, part: string, query: URLSearchParams): Answer {
  const wide = id === wideTraceID;
  if (!wide && !file("traces.json").includes(`"${id}"`)) return problem(404, "No such trace", `trace ${id} is not stored`);
  switch (part) {
    case "": return json(wide ? JSON.stringify(wideTrace()) : named(file("trace.json"), id));
    case "/statement": return json(wide ? JSON.stringify(wideStatement()) : named(file("statement.json"), id));
    case "/incident": {
      const record = file("incident.json");
      if (query.get("format") === "json") return json(record);
      return { status: 200, type: "text/markdown", body: (JSON.parse(record) as { markdown: string }).markdown };
    }
  }
  return problem(404, "Not found", `there is no ${part} of a trace`);
}

function named(body: string, id: string): string {
  return JSON.stringify({ ...(JSON.parse(body) as object), trace_id: id });
}

function file(name: string): string {
  return readFileSync(new URL(name, golden), "utf8");
}

function withoutRows(name: string): string {
  return JSON.stringify({ ...(JSON.parse(file(name)) as object), rows: [] });
}

function json(body: string): Answer {
  return { status: 200, type: "application/json", body };
}

function problem(status: number, title: string, detail: string): Answer {
  return { status, type: "application/problem+json", body: JSON.stringify({ type: "about:blank", title, status, detail }) };
}
