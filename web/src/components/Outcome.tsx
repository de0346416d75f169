import { words } from "../model/words.ts";
import { Icon } from "./Icon.tsx";

const classes = {
  late_or_failed: { tone: "bad", icon: "error" },
  degraded: { tone: "warn", icon: "warn" },
  benign: { tone: "", icon: "info" },
  in_time: { tone: "good", icon: "good" },
} as const;

/** How a request ended, with the class that says how bad that is. */
export function Outcome({ outcome, kind, late }: { outcome: string; kind: string; late: boolean }) {
  const { tone, icon } = classes[kind as keyof typeof classes] ?? classes.benign;
  return <span className={`chip ${tone}`} title={words(kind)}><Icon name={icon} />{late ? `Late, ${outcome.replaceAll("_", " ")}` : words(outcome)}</span>;
}
