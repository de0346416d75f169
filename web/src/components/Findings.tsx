import type { Finding, Statement } from "../api/shapes.ts";
import { formatSeconds } from "../model/seconds.ts";
import { groupFindings, type FindingGroup } from "../model/statement.ts";
import { ruleName } from "../model/words.ts";
import { Icon } from "./Icon.tsx";

const tones = { error: "bad", warn: "warn", info: "quiet" } as const;

/** What was found in a trace, one entry per rule, the first violation first. */
export function Findings({ statement, selected, show }: { statement: Statement; selected: string; show: (span: string) => void }) {
  const groups = groupFindings(statement);
  if (groups.length === 0) return <p className="small quiet"><span className="good"><Icon name="good" /></span> No finding.</p>;
  return (
    <div className="findings" role="group" aria-label="Findings">
      {groups.map((group) => <Group key={group.rule} group={group} selected={selected} show={show} />)}
    </div>
  );
}

function Group({ group, selected, show }: { group: FindingGroup; selected: string; show: (span: string) => void }) {
  const [only] = group.findings;
  const title = (
    <>
      <span className={tones[group.severity]}><Icon name={group.severity} label={group.severity} /></span>
      <span>{ruleName(group.rule)}</span>
      {group.findings.length > 1 && <span className="quiet">× {group.findings.length}</span>}
      {group.amount > 0 && <span className="quiet">{formatSeconds(group.amount)}</span>}
      {group.first && <span className="bad">first violation</span>}
    </>
  );
  const className = group.first ? "first" : undefined;
  if (group.findings.length === 1 && only) {
    return <button type="button" className={`one ${className ?? ""}`} title={only.text} onClick={() => show(only.span_id ?? "")}>{title}</button>;
  }
  return (
    <details name="findings">
      <summary className={className}>{title} <Icon name="open" /></summary>
      <ol className="panel">
        {group.findings.slice(0, 200).map((finding, i) => (
          <li key={i}><button type="button" className="plain" aria-pressed={finding.span_id === selected} onClick={() => show(finding.span_id ?? "")}>{sentence(finding)}</button></li>
        ))}
        {group.findings.length > 200 && <li className="quiet small">and {group.findings.length - 200} more</li>}
      </ol>
    </details>
  );
}

function sentence(finding: Finding): string {
  return finding.text || [finding.service, finding.stage, formatSeconds(finding.amount_s)].filter(Boolean).join(" · ");
}
