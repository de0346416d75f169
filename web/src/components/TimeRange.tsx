import { useId, useState, type FormEvent } from "react";
import { useSearchParams } from "wouter";
import { defaultFrom, presets, windowLabel, withFilter } from "../model/filters.ts";

/** Chooses the window; the choice lives in the URL. */
export function TimeRange() {
  const id = useId();
  const [query, setQuery] = useSearchParams();
  const from = query.get("from") || defaultFrom;
  const to = query.get("to") || "";
  const isPreset = !to && presets.some((preset) => preset.from === from);
  const [custom, setCustom] = useState(false);
  const choose = (value: string) => {
    setCustom(value === "custom");
    if (value !== "custom" && value !== "current") setQuery(withFilter(query, { from: value, to: "" }));
  };
  const apply = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setQuery(withFilter(query, { from: String(form.get("from") || defaultFrom).trim(), to: String(form.get("to") ?? "").trim() }));
    setCustom(false);
  };
  return (
    <div className="range">
      <label className="hidden-text" htmlFor={id}>Time range</label>
      <select id={id} value={custom ? "custom" : isPreset ? from : "current"} onChange={(event) => choose(event.target.value)}>
        {presets.map((preset) => <option key={preset.from} value={preset.from}>{preset.label}</option>)}
        {!isPreset && <option value="current">{windowLabel(from, to)}</option>}
        <option value="custom">From … to …</option>
      </select>
      {custom && (
        <form className="range" onSubmit={apply}>
          <input name="from" aria-label="From" defaultValue={from} placeholder="now-3h or 2026-01-31T08:00:00Z" autoFocus />
          <input name="to" aria-label="To" defaultValue={to} placeholder="now" />
          <button type="submit" className="button primary">Show</button>
        </form>
      )}
    </div>
  );
}
