import { useEffect, useId, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { useServices } from "../api/queries.ts";
import { choices, type Choice } from "../model/choices.ts";

/** One line to go anywhere: a pasted trace id, a route, a service, a page, a time range. */
export function Palette({ close, actions }: { close: () => void; actions: readonly Choice[] }) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [, navigate] = useLocation();
  const [query, setQuery] = useSearchParams();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const services = useServices().data?.rows;
  const found = useMemo(() => choices(text, { services: services ?? [], query, actions }), [text, services, query, actions]);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  useEffect(() => {
    void list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const take = (choice: Choice | undefined) => {
    if (!choice) return;
    dialog.current?.close();
    if (choice.act) choice.act();
    else if (choice.path?.startsWith("?")) setQuery(new URLSearchParams(choice.path.slice(1)));
    else if (choice.path) navigate(choice.path);
  };
  const keys: Record<string, (() => void) | undefined> = {
    ArrowDown: () => setAt((at + 1) % Math.max(1, found.length)),
    ArrowUp: () => setAt((at - 1 + found.length) % Math.max(1, found.length)),
    Enter: () => take(found[at]),
  };
  return (
    <dialog ref={dialog} className="palette" aria-label="Go to" onClose={close} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <input
        role="combobox" aria-expanded="true" aria-controls={`${id}-list`} aria-activedescendant={found[at] ? `${id}-${at}` : undefined} aria-label="Trace id, route, service, page or time range"
        placeholder="Paste a trace id, or type a route, service, page or time range" value={text} autoFocus spellCheck={false} autoComplete="off"
        onChange={(event) => { setText(event.target.value); setAt(0); }}
        onKeyDown={(event) => {
          const act = keys[event.key];
          if (!act) return;
          event.preventDefault();
          act();
        }}
      />
      <ul ref={list} id={`${id}-list`} role="listbox" aria-label="Choices">
        {found.map((choice, i) => (
          <li key={`${choice.group} ${choice.path ?? ""} ${choice.label}`} id={`${id}-${i}`} role="option" aria-selected={i === at} onPointerMove={() => i !== at && setAt(i)} onClick={() => take(choice)}>
            <span className="group">{choice.group}</span>
            <span className="label"><bdi>{choice.label}</bdi></span>
            {choice.hint && <span className="hint"><bdi>{choice.hint}</bdi></span>}
          </li>
        ))}
      </ul>
      {found.length === 0 && (
        <p className="nothing" role="status">
          Nothing is called that, and there is no trace id in it: 32 hexadecimal digits, or the 16 of a short one.
        </p>
      )}
    </dialog>
  );
}
