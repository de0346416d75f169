import { Link } from "wouter";
import { shortID } from "../model/ids.ts";

/** Examples of what a row counts, the worst first. */
export function TraceLinks({ ids }: { ids: readonly string[] }) {
  if (ids.length === 0) return <>–</>;
  return <span className="trace-links">{ids.map((id) => <Link key={id} className="mono" href={`/traces/${id}`} title={`Open trace ${id}`}>{shortID(id)}</Link>)}</span>;
}
