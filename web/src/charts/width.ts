import { useEffect, useState, type RefObject } from "react";

// Narrower than its own axes a chart has nothing to show, and lengths would come out negative.
const least = 120;

/** The width of an element in pixels, followed as it changes; 0 before the first measurement and where there is no room to draw. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const target = element.current;
    if (!target) return;
    const observer = new ResizeObserver(([entry]) => {
      const wide = Math.floor(entry?.contentRect.width ?? 0);
      setWidth(wide < least ? 0 : wide);
    });
    observer.observe(target);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
