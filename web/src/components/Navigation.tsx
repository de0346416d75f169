import { Link, useLocation, useSearchParams } from "wouter";
import { useAlerts } from "../api/alerts.ts";
import { loud } from "../model/alerts.ts";
import { windowOf } from "../model/filters.ts";
import { placeGroups } from "../model/places.ts";

/** The pages by group. The window goes along. */
export function Navigation({ onGo }: { onGo?: () => void }) {
  const [location] = useLocation();
  const [query] = useSearchParams();
  const kept = windowOf(query).toString();
  return (
    <nav className="side-nav" aria-label="Pages">
      {placeGroups.map((group) => (
        <div key={group.label} role="group" aria-label={group.label}>
          <p aria-hidden="true">{group.label}</p>
          <ul>
            {group.places.map(({ path, label, asks }) => (
              <li key={path}><Link href={kept ? `${path}?${kept}` : path} title={asks} aria-current={here(location, path) ? "page" : undefined} onClick={onGo}>{label}{path === "/alerts" && <Firing />}</Link></li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

/** How many alerts fire that nobody silenced. */
function Firing() {
  const firing = loud(useAlerts().data?.rows ?? []).length;
  return firing > 0 ? <span className="nav-count">{firing}<span className="hidden-text"> firing</span></span> : null;
}

function here(location: string, path: string): boolean {
  if (path === "/") return location === "/" || location === "/route";
  return location === path || (path === "/search" && location.startsWith("/traces/"));
}
