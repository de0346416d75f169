import { Link } from "wouter";

/** Examples of what a row counts, the worst first. */
export function TraceLinks({ ids }: { ids: readonly string[] }) {
  if (ids.length === 0) return <>–</>;
  return <span className="trace-links">{ids.map((id) => <Link key={id} className="mono" href={`/traces/${id}`} title={`Open trace ${id}`}>{id.slice(0, 8)}</Link>)}</span>;
}
