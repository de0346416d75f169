import { Link } from "wouter";
import { Empty } from "../components/States.tsx";

export function NotFound() {
  return (
    <Empty title="There is no such page">
      <p className="quiet">The address may be cut off. A trace lives under <code>/traces/</code> and its id.</p>
      <div className="actions"><Link className="button" href="/">Overview</Link><Link className="button" href="/search">Traces</Link></div>
    </Empty>
  );
}
