import { useEffect, useId, useRef, useState, type FormEvent } from "react";
import { comparisonNames, comparisonShort, comparisons, parseWindow, presets, windowLabel } from "../model/window.ts";
import { Icon } from "./Icon.tsx";
import { useKeys } from "./keys.ts";
import { usePlace } from "./place.ts";
import { zone } from "./settings.ts";

/** Chooses the window and what it is held against; both live in the address. */
export function TimePicker() {
  const [open, setOpen] = useState(false);
  const place = usePlace();
  const shown = zone.use();
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useKeys({ d: () => setOpen(true) });
  return (
    <div className="picker" onKeyDown={(event) => { if (open && event.key === "Escape") { event.preventDefault(); close(); } }}>
      <button ref={button} type="button" className="button" aria-haspopup="dialog" aria-expanded={open} title="Time range (d)" onClick={() => setOpen(!open)}>
        <Icon name="clock" />
        <span className="picker-label">{windowLabel(place.window, shown)}</span>
        {place.comparison && <span className="quiet">against {comparisonShort[place.comparison]}</span>}
        <Icon name="open" />
      </button>
      {open && <Panel place={place} close={close} />}
    </div>
  );
}

function Panel({ place, close }: { place: ReturnType<typeof usePlace>; close: () => void }) {
  const id = useId();
  const shown = zone.use();
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [complaint, setComplaint] = useState("");
  useEffect(() => {
    input.current?.focus();
    const outside = (event: PointerEvent) => {
      if (event.target instanceof Node && !box.current?.parentElement?.contains(event.target)) close();
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [close]);
  const apply = (event: FormEvent) => {
    event.preventDefault();
    const window = parseWindow(input.current?.value ?? "", shown);
    if (!window) return setComplaint("Type 3h, last 2 days, yesterday, 2026-01-31, or two instants with “to” between.");
    place.change({ from: window.from, to: window.to });
    close();
  };
  return (
    <div ref={box} className="picker-panel panel" role="dialog" aria-label="Time range">
      <form onSubmit={apply}>
        <label htmlFor={id}>Any time range, in {shown === "UTC" ? "UTC" : "local time"}</label>
        <div className="pair">
          <input ref={input} id={id} placeholder="3h · yesterday · 2026-01-31 08:00 to 09:30" onChange={() => setComplaint("")} aria-invalid={complaint !== ""} aria-describedby={`${id}-said`} spellCheck={false} autoComplete="off" />
          <button type="submit" className="button primary">Show</button>
        </div>
        <p id={`${id}-said`} className="small warn" role="alert">{complaint}</p>
      </form>
      <ul className="presets">
        {presets.map((preset) => (
          <li key={preset.from}>
            <button type="button" className="plain" aria-pressed={!place.window.to && place.window.from === preset.from} onClick={() => { place.change({ from: preset.from, to: "" }); close(); }}>{preset.label}</button>
          </li>
        ))}
      </ul>
      <fieldset>
        <legend>Hold it against</legend>
        {comparisons.map((comparison) => (
          <label key={comparison}>
            <input type="radio" name={`${id}-compare`} checked={place.comparison === comparison} onChange={() => place.change({ compare: comparison })} />
            {comparisonNames[comparison]}
          </label>
        ))}
      </fieldset>
    </div>
  );
}
