import { useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { ApiError, saveToken } from "../api/client.ts";
import { useHealth } from "../api/queries.ts";
import type { ExcludedName } from "../model/exclusions.ts";
import type { FilterName } from "../model/filters.ts";
import { formatInstant } from "../model/instants.ts";
import { lengthOf } from "../model/window.ts";
import { CopyButton } from "./CopyButton.tsx";
import { Icon } from "./Icon.tsx";
import type { PlaceState } from "./place.ts";
import { zone } from "./settings.ts";

export function Loading({ what, rows = 5 }: { what: string; rows?: number }) {
  return (
    <div className="loading" role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: rows }, (_, i) => <span key={i} style={{ width: `${92 - ((i * 37) % 40)}%` }} />)}
    </div>
  );
}

/** What went wrong, in the server's words, what to do about it, and the ways on. */
export function Failure({ error, retry, ways }: { error: Error; retry: () => void; ways?: ReactNode }) {
  const [location] = useLocation();
  const problem = error instanceof ApiError ? error : new ApiError(0, "The page could not read the answer", error.message);
  if (problem.status === 401) return <AskToken retry={retry} />;
  const refused = problem.status >= 400 && problem.status < 500 && problem.status !== 404 && problem.status !== 429;
  return (
    <div className="state" role="alert">
      <h1>{problem.title}</h1>
      {problem.detail && <p>{capital(problem.detail)}</p>}
      {problem.advice && <p className="quiet">{capital(problem.advice)}.</p>}
      <div className="actions">
        {/* Asking the same again cannot mend what the server refuses to read. */}
        {refused ? ways ?? <Link className="button" href={location}>Start without filters, last 24 hours</Link> : <><button type="button" className="button" onClick={retry}>Try again</button>{ways}</>}
      </div>
    </div>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).replace(/\.$/, "");
}

function AskToken({ retry }: { retry: () => void }) {
  const [token, setToken] = useState("");
  return (
    <form className="state" onSubmit={(event) => { event.preventDefault(); saveToken(token.trim()); retry(); }}>
      <h1>This installation asks for a token</h1>
      <p className="quiet">It is the content of the file that the server was started with (<code>--token-file</code>). It is kept until this tab closes.</p>
      <div className="actions">
        <input type="password" aria-label="Token" value={token} onChange={(event) => setToken(event.target.value)} autoComplete="off" />
        <button type="submit" className="button primary">Continue</button>
      </div>
    </form>
  );
}

/** Shown above older data when a refresh failed, so that nobody takes them for fresh. */
export function Stale({ error, at, retry }: { error: Error | null; at: number; retry: () => void }) {
  if (!error) return null;
  return (
    <div className="notice" role="status">
      <Icon name="warn" />
      <span>These are the data of {new Date(at).toLocaleTimeString()}. Refreshing them failed: {error.message}</span>
      <button type="button" className="button" onClick={retry}>Try again</button>
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return <div className="state"><h1>{title}</h1>{children}</div>;
}

/** Nothing fits: what that means, and the ways on. */
export function NothingHere({ place, names, leaves = [], newest, children }: { place: PlaceState; names: readonly FilterName[]; leaves?: readonly ExcludedName[]; newest: string | null; children: ReactNode }) {
  const shown = zone.use();
  const left = leaves.map((name) => `not.${name}`).filter((name) => place.query.has(name));
  const set = [...names.filter((name) => place.filters[name]), ...left];
  const wide = place.window.from.startsWith("1970");
  return (
    <div className="state nothing-here">
      <p>{children}</p>
      {newest && !wide && <p className="quiet">The newest span started at {formatInstant(newest, shown)}{shown === "UTC" ? " UTC" : ""}. Imported traces keep the time at which they were recorded.</p>}
      <div className="actions">
        {set.length > 0 && <button type="button" className="button primary" onClick={() => place.change(Object.fromEntries(set.map((name) => [name, ""])))}>Remove {set.length === 1 ? "the filter" : "all filters"}</button>}
        {(lengthOf(place.window) ?? 0) < 7 * 86_400 && <button type="button" className="button" onClick={() => place.change({ from: "now-7d", to: "" })}>Last 7 days</button>}
        {!wide && <button type="button" className="button" onClick={() => place.change({ from: "1970-01-01T00:00:00Z", to: "" })}>All time</button>}
      </div>
    </div>
  );
}

/** How to get the first trace in. */
export function FirstTrace() {
  const health = useHealth();
  const ingest = health.data?.ingest;
  const http = `http://${ingest?.otlp_http || "127.0.0.1:4318"}`;
  // The commands know the default address themselves.
  const grpc = ingest?.otlp_grpc && ingest.otlp_grpc !== "127.0.0.1:4317" ? `--otlp-grpc ${ingest.otlp_grpc} ` : "";
  return (
    <div className="state">
      <h1>No traces yet</h1>
      <p>Laxity reads OpenTelemetry traces. Any of these brings the first ones in; the page shows them within seconds.</p>
      <Recipe title="Send those of a service" text={`export OTEL_EXPORTER_OTLP_ENDPOINT=${http}\nexport OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\nexport OTEL_SERVICE_NAME=my-service`} />
      <Recipe title="Import a file: OTLP, Jaeger or Zipkin, compressed or not" text={`laxity import ${grpc}traces.json`} />
      <Recipe title="Watch sample services miss their deadlines" text={`laxity demo ${grpc}`.trim()} />
      <p className="quiet">One attribute on the entry span, <code>deadline.budget.received</code> in seconds, gives a trace its budget.</p>
    </div>
  );
}

function Recipe({ title, text }: { title: string; text: string }) {
  return (
    <section className="recipe">
      <div className="row"><h2>{title}</h2><CopyButton label="Copy" text={() => text} /></div>
      <pre tabIndex={0} role="region" aria-label={title}>{text}</pre>
    </section>
  );
}
