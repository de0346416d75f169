import { useEffect, useRef } from "react";

const keys = [
  ["/", "go to a trace id, route, service, page or time range; also Ctrl K"],
  ["d", "choose the time range"],
  ["o", "overview"],
  ["t", "traces"],
  ["j k", "next and previous row, line or span"],
  ["Enter", "open the row"],
  ["n p", "next and previous violation of a trace"],
  ["l", "between ledger and waterfall"],
  ["[ ]", "collapse and expand every span"],
  ["z", "zoom between the request and the whole trace"],
  ["Esc", "clear the selection, close what is open"],
  ["?", "this sheet"],
] as const;

const meanings = [
  ["Budget", "the time a request may take, granted where it enters"],
  ["Margin", "what was left of the budget when the answer was there; negative means late"],
  ["Missed", "answered late, or ended for lack of time before an answer"],
  ["Orphan work", "work done for a caller that had stopped waiting"],
  ["Overhang", "a child that outlives its parent with no sign that anybody gave up; shown, never blamed"],
] as const;

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} onClose={close} onClick={(event) => event.target === dialog.current && close()} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl className="keys">
        {keys.map(([key, what]) => (
          <div key={key} style={{ display: "contents" }}>
            <dt>{key.split(" ").map((k) => <kbd key={k}>{k}</kbd>)}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <h2 style={{ marginTop: 18 }}>Words</h2>
      <dl className="keys">
        {meanings.map(([word, what]) => (
          <div key={word} style={{ display: "contents" }}><dt>{word}</dt><dd className="quiet">{what}</dd></div>
        ))}
      </dl>
      <form method="dialog" className="actions" style={{ marginTop: 18 }}><button className="button primary">Close</button></form>
    </dialog>
  );
}
