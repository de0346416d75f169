import { Link } from "wouter";
import { useServices } from "../api/queries.ts";
import { windowOf, withFilter } from "../model/filters.ts";
import { nearest } from "../model/near.ts";
import type { PlaceState } from "./place.ts";

/** Where somebody may have wanted to go who asked for a route that is not there. */
export function NearRoutes({ service, route, place }: { service: string; route: string; place: PlaceState }) {
  const rows = useServices().data?.rows ?? [];
  const near = nearest({ service, route }, rows.flatMap((row) => row.routes.map((one) => ({ service: row.service, route: one }))));
  if (near.length === 0) return null;
  return (
    <section className="panel block" aria-label="Routes like it">
      <h2>Routes like it</h2>
      <ul>
        {near.map((one) => <li key={`${one.service} ${one.route}`}><Link href={`/route?${withFilter(windowOf(place.query), { ...one })}`}><bdi>{one.route}</bdi></Link> <span className="quiet">of <bdi>{one.service}</bdi></span></li>)}
      </ul>
    </section>
  );
}
