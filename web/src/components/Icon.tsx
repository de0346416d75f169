const paths = {
  error: <path d="M8 1 15 8 8 15 1 8Z" fill="currentColor" />,
  warn: <path d="M8 1.5 15.5 14.5H.5Z" fill="currentColor" />,
  info: <circle cx="8" cy="8" r="6" fill="currentColor" />,
  errorBelow: <path d="M8 2 14 8 8 14 2 8Z" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  warnBelow: <path d="M8 3 14.5 13.5H1.5Z" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  good: <path d="m2 8.5 4 4 8-9" fill="none" stroke="currentColor" strokeWidth="2" />,
  open: <path d="m4 6 4 4 4-4" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  closed: <path d="m6 4 4 4-4 4" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  up: <path d="M8 13V3M4 7l4-4 4 4" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  down: <path d="M8 3v10M4 9l4 4 4-4" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  cross: <path d="m4 4 8 8m0-8-8 8" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  copy: <path d="M5.5 5.5h8v8h-8zM2.5 10.5v-8h8" fill="none" stroke="currentColor" strokeWidth="1.4" />,
  link: <path d="M7 9.5a3 3 0 0 0 4.2 0l2-2A3 3 0 0 0 9 3.3l-.8.8M9 6.5a3 3 0 0 0-4.2 0l-2 2A3 3 0 0 0 7 12.7l.8-.8" fill="none" stroke="currentColor" strokeWidth="1.4" />,
  sun: <path d="M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6ZM8 1v1.5m0 11V15M1 8h1.5m11 0H15M3 3l1 1m8 8 1 1M3 13l1-1m8-8 1-1" fill="none" stroke="currentColor" strokeWidth="1.4" />,
  moon: <path d="M13.5 9.8A6 6 0 0 1 6.2 2.5a6 6 0 1 0 7.3 7.3Z" fill="none" stroke="currentColor" strokeWidth="1.4" />,
  auto: <path d="M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 0v12" fill="none" stroke="currentColor" strokeWidth="1.4" />,
  clock: <path d="M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8ZM8 4.5V8l2.5 1.8" fill="none" stroke="currentColor" strokeWidth="1.4" />,
  find: <path d="M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9Zm3.3 7.8L14 14" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  menu: <path d="M2 4h12M2 8h12M2 12h12" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  download: <path d="M8 2v8m-3.5-3L8 10.5 11.5 7M2.5 13.5h11" fill="none" stroke="currentColor" strokeWidth="1.5" />,
  arrow: <path d="M2 8h11M9 4l4 4-4 4" fill="none" stroke="currentColor" strokeWidth="1.5" />,
  flag: <path d="M3.5 14.5v-13M3.5 2.5h9l-2 3 2 3h-9" fill="none" stroke="currentColor" strokeWidth="1.5" />,
  question: <path d="M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.8-1.1 1.8M8 12.2v1.3" fill="none" stroke="currentColor" strokeWidth="1.6" />,
};

export type IconName = keyof typeof paths;

/** A small sign. It needs a `label` where no text beside it says the same. */
export function Icon({ name, label }: { name: IconName; label?: string }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}>
      {label && <title>{label}</title>}
      {paths[name]}
    </svg>
  );
}
