import { useLocation } from "wouter";
import { useMarkers } from "../api/queries.ts";
import type { Marker } from "../api/shapes.ts";
import { windowOf, withFilter } from "../model/filters.ts";
import { formatInstant } from "../model/instants.ts";
import { Icon } from "./Icon.tsx";
import type { PlaceState } from "./place.ts";
import { zone } from "./settings.ts";

const most = 12;

/** What was deployed in the window; each leads to the comparison of before and after. */
export function MarkerList({ place, chosen = "" }: { place: PlaceState; chosen?: string }) {
  const shown = zone.use();
  const [, navigate] = useLocation();
  const markers = useMarkers(place.window, place.filters["service"]);
  const rows = markers.data?.rows ?? [];
  if (rows.length === 0) return markers.data ? <p className="quiet small">No deployment in this time range. <code>laxity marker</code> or <code>POST /api/v1/markers</code> writes one down; new values of service.version show by themselves.</p> : null;
  const go = (id: string) => navigate(`/changes?${withFilter(windowOf(place.query), { service: place.filters["service"] ?? "", route: place.filters["route"] ?? "", marker: id === chosen ? "" : id })}`);
  return (
    <div className="marker-list" role="group" aria-label="Deployments">
      {rows.slice(0, most).map((marker) => (
        <button key={marker.id} type="button" className="button" aria-pressed={marker.id === chosen} title={`${formatInstant(marker.at, shown)}${marker.text ? `: ${marker.text}` : ""}. Compare before and after`} onClick={() => go(marker.id)}>
          <Icon name="flag" /> {markerName(marker)} <span className="quiet">{formatInstant(marker.at, shown).slice(5, 16)}</span>
        </button>
      ))}
      {rows.length > most && <span className="quiet small">and {rows.length - most} earlier ones</span>}
    </div>
  );
}

export function markerName(marker: Marker): string {
  return marker.title || [marker.service, marker.version].filter(Boolean).join(" ") || "Marker";
}
