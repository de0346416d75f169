import { useEffect, useState } from "react";
import { Icon } from "./Icon.tsx";

/** Copies a text, which may have to be fetched first, and says whether it worked. */
export function CopyButton({ label, text, iconOnly = false }: { label: string; text: () => string | Promise<string>; iconOnly?: boolean }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), 2500);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => {
    try {
      await write(await text());
      setSaid("Copied");
    } catch (error) {
      setSaid(error instanceof Error ? error.message : "Could not copy");
    }
  };
  return (
    <button type="button" className={iconOnly ? "button icon-button" : "button"} onClick={copy} title={label} aria-label={iconOnly ? label : undefined}>
      <Icon name={said === "Copied" ? "good" : "copy"} />
      {!iconOnly && (said || label)}
      <span className="hidden-text" role="status">{said}</span>
    </button>
  );
}

async function write(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Without TLS and off loopback there is no clipboard object.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("The browser refused to copy");
}
