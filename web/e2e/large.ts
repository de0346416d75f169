// A request of very many spans as a service would send it: for each item a call, what answers it, and two statements below.

export const largeID = "0000000000000000000050000b41e5ed";
const seconds = 60; // the budget; the request takes one more
const perItem = 5;
const perMessage = 5_000;

interface Attribute { key: string; value: { stringValue: string } | { doubleValue: number } }

const text = (key: string, value: string): Attribute => ({ key, value: { stringValue: value } });
const number = (key: string, value: number): Attribute => ({ key, value: { doubleValue: value } });
const spanID = (n: number) => (n + 1).toString(16).padStart(16, "0");

/** Sends the trace over OTLP/HTTP; it began at an instant, in milliseconds since 1970. */
export async function sendLarge(otlp: string, size: number, began: number): Promise<void> {
  const items = Math.floor((size - 1) / perItem);
  const each = seconds / items;
  const rows: { service: string; span: object }[] = [];
  const add = (service: string, parent: number | null, kind: number, name: string, at: number, lasts: number, attributes: Attribute[]) => {
    const start = BigInt(Math.round(began)) * 1_000_000n + BigInt(Math.round(at * 1e9));
    rows.push({ service, span: {
      traceId: largeID, spanId: spanID(rows.length), ...(parent === null ? {} : { parentSpanId: spanID(parent) }), name, kind,
      startTimeUnixNano: String(start), endTimeUnixNano: String(start + BigInt(Math.round(lasts * 1e9))), attributes,
    } });
    return rows.length - 1;
  };
  const entry = add("wholesale", null, 2, "POST /import", 0, seconds + 1, [text("http.route", "/import"), number("deadline.budget.received", seconds)]);
  for (let i = 0; i < items; i++) {
    const at = i * each;
    const call = add("wholesale", entry, 3, "price", at, each * 0.9, [text("deadline.stage", `price ${i}`), text("peer.service", "catalogue"), number("deadline.remaining.before", seconds - at)]);
    // One callee grants itself more than was left.
    const granted = i === items - 10 ? seconds : seconds - at - each * 0.05;
    const answer = add("catalogue", call, 2, "GET /price", at + each * 0.05, each * 0.8, [text("http.route", "/price"), number("deadline.budget.received", granted)]);
    const work = add("catalogue", answer, 1, "calculate", at + each * 0.1, each * 0.7, []);
    for (const table of ["prices", "discounts"].slice(0, perItem - 3)) add("catalogue", work, 3, `SELECT ${table}`, at + each * (table === "prices" ? 0.15 : 0.45), each * 0.3, [text("db.system", "postgresql"), text("peer.service", "postgres")]);
  }
  while (rows.length < size) add("wholesale", entry, 1, "tidy up", seconds + 0.2, 0.5, []);
  for (let from = 0; from < rows.length; from += perMessage) {
    const part = rows.slice(from, from + perMessage);
    const resourceSpans = [...new Set(part.map((row) => row.service))].map((service) => ({
      resource: { attributes: [text("service.name", service), text("service.version", "3.1"), text("deployment.environment.name", "staging")] },
      scopeSpans: [{ scope: { name: "orders" }, spans: part.filter((row) => row.service === service).map((row) => row.span) }],
    }));
    const answer = await fetch(`${otlp}/v1/traces`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ resourceSpans }) });
    if (!answer.ok) throw new Error(`OTLP answers ${answer.status}: ${await answer.text()}`);
  }
}
