import { useEffect, useRef } from "react";

export type Keys = Record<string, () => void>;

/** Binds single keys for as long as the component shows. Nothing fires while somebody types or holds a modifier. */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (event.key !== "Escape" && event.target instanceof HTMLElement && event.target.closest("input, select, textarea, dialog")) return;
      if (event.key === "Enter" && event.target instanceof Element && event.target.closest("a, button, summary")) return; // which do what they say
      const act = current.current[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}
