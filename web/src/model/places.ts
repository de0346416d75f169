/** The pages, in the order and groups of the navigation. */
export interface Place {
  path: string;
  label: string;
  /** The question the page answers. */
  asks: string;
}

export interface PlaceGroup {
  label: string;
  places: readonly Place[];
}

export const placeGroups: readonly PlaceGroup[] = [
  {
    label: "Watch",
    places: [
      { path: "/", label: "Overview", asks: "What needs attention now?" },
      { path: "/alerts", label: "Alerts", asks: "What fires, who is told, and what is silenced?" },
      { path: "/search", label: "Traces", asks: "Which requests were late, cut, degraded or orphaned?" },
      { path: "/changes", label: "What changed", asks: "Why did margins move, before and after?" },
      { path: "/findings", label: "Findings", asks: "Which rules were broken, and where?" },
    ],
  },
  {
    label: "Where time goes",
    places: [
      { path: "/stages", label: "Stages", asks: "Where do chains degrade?" },
      { path: "/dependencies", label: "Dependencies", asks: "Slow dependency or stingy caller?" },
      { path: "/phases", label: "Phases", asks: "In which phase do calls time out?" },
      { path: "/reserves", label: "Reserves", asks: "Do reserves fit what follows?" },
      { path: "/advice", label: "Advice", asks: "What do dependencies and routes need? The policy file" },
      { path: "/local", label: "Before calling", asks: "Who spends the budget before calling anybody?" },
    ],
  },
  {
    label: "Work for nobody",
    places: [
      { path: "/orphans", label: "Orphans", asks: "Who works for callers that no longer wait?" },
      { path: "/cancellations", label: "Cancellations", asks: "Who gives up, when, and does the work stop?" },
      { path: "/retries", label: "Retries", asks: "What do retries bring?" },
    ],
  },
  {
    label: "Handing down",
    places: [
      { path: "/propagation", label: "Propagation", asks: "Does the budget arrive where it is needed?" },
      { path: "/conformance", label: "Conformance", asks: "What do services record, and what not?" },
      { path: "/limits", label: "Hidden limits", asks: "Which timeouts has nobody recorded?" },
    ],
  },
];

export const places: readonly Place[] = placeGroups.flatMap((group) => group.places);
