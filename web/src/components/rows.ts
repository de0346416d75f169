import { useEffect, useRef, useState, type RefObject } from "react";
import { useLocation } from "wouter";
import { useKeys } from "./keys.ts";

/** Walks the rows of a table with j and k and opens one with Enter. The row in turn has the class `current`. */
export function useRows(count: number, pathOf: (index: number) => string | null | undefined): [number, RefObject<HTMLTableSectionElement | null>] {
  const [, navigate] = useLocation();
  const [current, setCurrent] = useState(-1);
  const body = useRef<HTMLTableSectionElement>(null);
  const move = (by: number) => setCurrent((at) => Math.min(count - 1, Math.max(0, at + by)));
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const path = current >= 0 && pathOf(current);
      if (path) navigate(path);
    },
  });
  useEffect(() => {
    // No short form: what scrollIntoView returns in newer browsers is not a clean-up.
    void body.current?.querySelector(".current")?.scrollIntoView({ block: "nearest" });
  }, [current]);
  return [current, body];
}
