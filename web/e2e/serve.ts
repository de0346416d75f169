import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { preview } from "vite";

// Enough of each that every report has something to show after a few seconds.
const faults = ["renewed_clock=0.1", "dropped_header=0.1", "ignored_cancel=0.15", "client_leaves=0.1", "retry_storm=0.1", "late_result=0.05"].flatMap((fault) => ["--fault", fault]);

/**
 * Decides what the pages are tested against: LAXITY_URL as it is; else the binary LAXITY_BINARY, started with recorded
 * traces and some minutes of sample services; else the built page over the API's golden answers.
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env["LAXITY_URL"]) return undefined;
  const binary = process.env["LAXITY_BINARY"];
  return binary ? real(resolve(binary)) : golden();
}

async function golden(): Promise<() => Promise<void>> {
  const server = await preview({ preview: { host: "127.0.0.1", port: 0 } });
  const url = server.resolvedUrls?.local[0];
  if (!url) throw new Error("the preview server has no address");
  process.env["LAXITY_URL"] = url;
  process.env["LAXITY_FIXTURES"] = "1";
  return () => server.close();
}

async function real(binary: string): Promise<() => Promise<void>> {
  const data = mkdtempSync(join(tmpdir(), "laxity-e2e-"));
  const any = "127.0.0.1:0";
  const up = spawn(binary, ["up", "--data", data, "--listen", any, "--otlp-grpc", any, "--otlp-http", any, "--engine-listen", any, "--metrics-listen", any, "--worker-metrics-listen", any, "--budget-from", "request_budget=ms"]);
  const stop = async () => {
    up.kill("SIGTERM");
    await ended(up);
    rmSync(data, { recursive: true, force: true });
  };
  try {
    const said = await output(up, /^page\s.*\n[^]*^OTLP\s.*\n/m);
    const [, page = ""] = /^page\s+(\S+)/m.exec(said) ?? [];
    const [, otlp = "", http = ""] = /^OTLP\s+(\S+) \(gRPC\), (\S+) \(HTTP\)/m.exec(said) ?? [];
    process.env["LAXITY_OTLP_HTTP"] = http;
    const files = recorded();
    if (files.length > 0) {
      await run(binary, ["import", "--otlp-grpc", otlp, ...files]);
      process.env["LAXITY_TRACE_IDS"] ??= (await traceIDs(binary, files)).join(" ");
    }
    await run(binary, ["demo", "--otlp-grpc", otlp, "--edge-listen", any, "--backfill", "2d", "--duration", "12s", "--quiet", ...faults]);
    await stored(page);
    process.env["LAXITY_URL"] = page;
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The collection of recorded traces: LAXITY_TRACES, or the next shared/traces above. */
function recorded(): string[] {
  let folder = process.env["LAXITY_TRACES"];
  for (let at = process.cwd(); !folder && at !== dirname(at); at = dirname(at)) {
    const candidate = join(at, "shared", "traces");
    if (existsSync(join(candidate, "README.md"))) folder = candidate;
  }
  if (!folder) {
    if (process.env["CI"] === "true") throw new Error("no collection of recorded traces: set LAXITY_TRACES to its folder");
    console.log("no collection of recorded traces: LAXITY_TRACES is not set and there is no shared/traces above");
    return [];
  }
  const within = folder;
  return readdirSync(within).map((name) => join(within, name)).filter((path) => statSync(path).isDirectory())
    .flatMap((path) => readdirSync(path).filter((name) => !name.endsWith(".manifest.json")).map((name) => join(path, name)));
}

/** The traces in the files, also those that no search finds because nothing in them enters a service. */
async function traceIDs(binary: string, files: string[]): Promise<string[]> {
  const ids = new Set<string>();
  for (const file of files) {
    const judged = JSON.parse(await run(binary, ["explain", file, "-o", "json"])) as { trace_id: string } | { trace_id: string }[];
    for (const statement of Array.isArray(judged) ? judged : [judged]) ids.add(statement.trace_id);
  }
  return [...ids];
}

async function run(binary: string, args: string[]): Promise<string> {
  const child = spawn(binary, args);
  let out = "";
  let complaint = "";
  child.stdout.on("data", (text: Buffer) => (out += text.toString()));
  child.stderr.on("data", (text: Buffer) => (complaint += text.toString()));
  const code = await ended(child);
  if (code !== 0) throw new Error(`laxity ${args[0]} ended with ${code}: ${(complaint || out).slice(-2000)}`);
  return out;
}

function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((done) => child.once("close", (code) => done(code)));
}

/** Waits until a process has said something. */
function output(child: ReturnType<typeof spawn>, pattern: RegExp): Promise<string> {
  return new Promise((found, fail) => {
    let said = "";
    const late = setTimeout(() => fail(new Error(`laxity up is not ready after 60 s: ${said.slice(-2000)}`)), 60_000);
    const read = (text: Buffer) => {
      said += text.toString();
      if (!pattern.test(said)) return;
      clearTimeout(late);
      found(said);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("exit", (code) => fail(new Error(`laxity up ended with ${code}: ${said.slice(-2000)}`)));
  });
}

/** Waits until what was sent can be asked for: the number of hops stands still. */
async function stored(page: string): Promise<void> {
  let before = -1;
  for (let i = 0; i < 120; i++) {
    const { data } = (await (await fetch(`${page}/api/v1/health`)).json()) as { data: { hops: number } | null };
    if (data && data.hops > 0 && data.hops === before) return;
    before = data?.hops ?? -1;
    await new Promise((later) => setTimeout(later, 1000));
  }
  throw new Error("the traces sent did not come to rest within two minutes");
}
