import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { Choice } from "../model/choices.ts";
import { windowOf } from "../model/filters.ts";
import { Boundary } from "./Boundary.tsx";
import { Help } from "./Help.tsx";
import { Icon } from "./Icon.tsx";
import { useKeys } from "./keys.ts";
import { Navigation } from "./Navigation.tsx";
import { Palette } from "./Palette.tsx";
import { theme, zone, type Theme } from "./settings.ts";
import { TimePicker } from "./TimePicker.tsx";

type Sheet = "" | "help" | "palette" | "menu";

export function Shell({ children }: { children: ReactNode }) {
  const [location, navigate] = useLocation();
  const [query] = useSearchParams();
  const [sheet, setSheet] = useState<Sheet>("");
  const kept = windowOf(query).toString();
  const href = (path: string) => (kept ? `${path}?${kept}` : path);
  const switchTheme = useThemeSwitch();
  const actions = useMemo((): Choice[] => [
    { group: "Action", label: "Switch between light and dark", hint: "", act: switchTheme },
    { group: "Action", label: "Switch between UTC and local time", hint: "", act: zone.next },
    { group: "Action", label: "Copy a link to this page", hint: "", act: () => void navigator.clipboard?.writeText(window.location.href) },
    { group: "Action", label: "Keys and words", hint: "?", act: () => setSheet("help") },
  ], [switchTheme]);
  const close = () => setSheet("");
  useKeys({
    "?": () => setSheet("help"),
    "/": () => setSheet("palette"),
    o: () => navigate(href("/")),
    t: () => navigate(href("/search")),
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        setSheet("palette");
      }
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <a className="skip" href="#content">Skip to the content</a>
      <header className="shell-head">
        <button type="button" className="button icon-button menu-button" aria-label="Pages" aria-haspopup="dialog" onClick={() => setSheet("menu")}><Icon name="menu" /></button>
        <Link className="brand" href={href("/")}><Mark />Laxity</Link>
        <button type="button" className="button shell-open" onClick={() => setSheet("palette")} aria-haspopup="dialog">
          <Icon name="find" /><span className="text">Trace id, route, service, page</span><kbd>/</kbd>
        </button>
        {!location.startsWith("/traces/") && <TimePicker />}
        <div className="shell-tools">
          <ZoneButton />
          <ThemeButton change={switchTheme} />
          <button type="button" className="button icon-button" aria-label="Help and keys" title="Help and keys (?)" onClick={() => setSheet("help")}><Icon name="question" /></button>
        </div>
      </header>
      <div className="shell-body">
        <aside className="side"><Navigation /></aside>
        <main id="content" className="page" tabIndex={-1}><Boundary place={location}>{children}</Boundary></main>
      </div>
      {sheet === "help" && <Help close={close} />}
      {sheet === "palette" && <Palette close={close} actions={actions} />}
      {sheet === "menu" && <Menu close={close} />}
    </>
  );
}

/** The navigation where there is no room for it beside the page. */
function Menu({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="menu" aria-label="Pages" onClose={close} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <Navigation onGo={() => dialog.current?.close()} />
      <form method="dialog"><button className="button">Close</button></form>
    </dialog>
  );
}

function ZoneButton() {
  const shown = zone.use();
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <button type="button" className="button" onClick={zone.next} title={`Times are shown in ${shown === "UTC" ? "UTC" : local}; switch`}>
      {shown === "UTC" ? "UTC" : "Local"}
    </button>
  );
}

const themeIcon = { auto: "auto", light: "sun", dark: "moon" } as const;

function useThemeSwitch(): () => void {
  const current = theme.use();
  useEffect(() => {
    if (current === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = current;
  }, [current]);
  return theme.next;
}

function ThemeButton({ change }: { change: () => void }) {
  const current: Theme = theme.use();
  return (
    <button type="button" className="button icon-button" onClick={change} aria-label={`Theme: ${current}`} title={`Theme: ${current === "auto" ? "as the system" : current}; switch`}>
      <Icon name={themeIcon[current]} />
    </button>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#0e5a66" />
      <path d="M6 8h6v5h7v5h7" fill="none" stroke="#fff" strokeWidth="3" strokeLinejoin="round" strokeLinecap="round" />
      <path d="M26 6v20" stroke="#ffb3a6" strokeWidth="3" strokeLinecap="round" />
    </svg>
  );
}
