const colours = 10;

/** Gives each service of a trace one of the palette's colours, in order of appearance, so that neighbours differ. */
export function assignColours(services: Iterable<string>): Map<string, string> {
  const assigned = new Map<string, string>();
  for (const service of services) {
    if (!assigned.has(service)) assigned.set(service, `var(--service-${assigned.size % colours})`);
  }
  return assigned;
}
