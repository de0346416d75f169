import { useSyncExternalStore } from "react";
import type { Zone } from "../model/instants.ts";

/** What a person chose for this browser. Storage that is blocked means that the choice lasts until the page closes. */
function setting<T extends string>(name: string, allowed: readonly [T, ...T[]]) {
  const listeners = new Set<() => void>();
  let value = load();
  function load(): T {
    try {
      const stored = localStorage.getItem(`laxity.${name}`);
      return allowed.find((choice) => choice === stored) ?? allowed[0];
    } catch {
      return allowed[0];
    }
  }
  function set(next: T): void {
    value = next;
    try {
      localStorage.setItem(`laxity.${name}`, next);
    } catch {
      // kept in memory only
    }
    for (const listener of listeners) listener();
  }
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const next = () => set(allowed[(allowed.indexOf(value) + 1) % allowed.length] ?? allowed[0]);
  return { use: () => useSyncExternalStore(subscribe, () => value), set, next };
}

export type Theme = "auto" | "light" | "dark";
export const theme = setting<Theme>("theme", ["auto", "light", "dark"]);
export const zone = setting<Zone>("zone", ["UTC", "local"]);
