import { useRef, useState, type FormEvent, type ReactNode } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { findTraceID, windowOf } from "../model/filters.ts";
import { Boundary } from "./Boundary.tsx";
import { Help } from "./Help.tsx";
import { Icon } from "./Icon.tsx";
import { useKeys } from "./keys.ts";
import { theme, zone, type Theme } from "./settings.ts";

const pages = [
  { path: "/", label: "Overview" },
  { path: "/search", label: "Traces" },
];

export function Shell({ children }: { children: ReactNode }) {
  const [location, navigate] = useLocation();
  const [query] = useSearchParams();
  const [help, setHelp] = useState(false);
  const opener = useRef<HTMLInputElement>(null);
  const kept = windowOf(query).toString();
  const href = (path: string) => (kept ? `${path}?${kept}` : path);
  useKeys({
    "?": () => setHelp(true),
    "/": () => opener.current?.focus(),
    o: () => navigate(href("/")),
    t: () => navigate(href("/search")),
  });
  return (
    <>
      <a className="skip" href="#content">Skip to the content</a>
      <header className="shell-head">
        <Link className="brand" href={href("/")}><Mark />Laxity</Link>
        <nav className="shell-nav" aria-label="Pages">
          {pages.map(({ path, label }) => (
            <Link key={path} href={href(path)} aria-current={location === path ? "page" : undefined}>{label}</Link>
          ))}
        </nav>
        <OpenTrace input={opener} />
        <div className="shell-tools">
          <ZoneButton />
          <ThemeButton />
          <button type="button" className="button icon-button" aria-label="Help and keys" title="Help and keys (?)" onClick={() => setHelp(true)}><Icon name="question" /></button>
        </div>
      </header>
      <main id="content" className="page"><Boundary place={location}>{children}</Boundary></main>
      {help && <Help close={() => setHelp(false)} />}
    </>
  );
}

function OpenTrace({ input }: { input: React.RefObject<HTMLInputElement | null> }) {
  const [, navigate] = useLocation();
  const [complaint, setComplaint] = useState("");
  const open = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const id = findTraceID(input.current?.value ?? "");
    setComplaint(id ? "" : "There is no trace id in that: 32 hexadecimal digits, or the 16 of a short one.");
    if (!id) return;
    if (input.current) input.current.value = "";
    input.current?.blur();
    navigate(`/traces/${id}`);
  };
  return (
    <form className="shell-open" role="search" onSubmit={open}>
      <input ref={input} aria-label="Open a trace by its id" placeholder="Paste a trace id, a traceparent or a log line" onChange={() => setComplaint("")} spellCheck={false} />
      {complaint && <div className="notice complaint" role="alert">{complaint}</div>}
    </form>
  );
}

function ZoneButton() {
  const shown = zone.use();
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <button type="button" className="button" onClick={() => zone.set(shown === "UTC" ? "local" : "UTC")} title={`Times are shown in ${shown === "UTC" ? "UTC" : local}; switch`}>
      {shown === "UTC" ? "UTC" : "Local"}
    </button>
  );
}

const nextTheme: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const themeIcon = { auto: "auto", light: "sun", dark: "moon" } as const;

function ThemeButton() {
  const current = theme.use();
  const change = () => {
    const next = nextTheme[current];
    theme.set(next);
    if (next === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = next;
  };
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
