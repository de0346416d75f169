/** A route as somebody may have asked for it. */
export interface Place {
  service: string;
  route: string;
}

const most = 8;

/** The routes most like one, the likest first: of an equal name, then of the same service, then by how many letters they begin with alike. */
export function nearest(wanted: Place, known: readonly Place[]): Place[] {
  const likeness = ({ service, route }: Place) => (route === wanted.route ? 1000 : 0) + (service === wanted.service ? 500 : 0) + alike(route, wanted.route) + alike(service, wanted.service);
  return known.filter(({ service, route }) => service !== wanted.service || route !== wanted.route)
    .map((place) => ({ place, likeness: likeness(place) }))
    .sort((a, b) => b.likeness - a.likeness || a.place.route.localeCompare(b.place.route))
    .slice(0, most).map(({ place }) => place);
}

function alike(a: string, b: string): number {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}
