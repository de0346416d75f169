-- The accounts of the traces of some days, as the worker would draw them: of the request, and of the backend's own budget.
INSERT INTO accounts (service, route, ts, trace_id, span_id, kind, holder, environment, service_version, channel, payload_class, region, complete,
    duration_ns, budget_ns, margin_ns, outcome, class, answered, late, exhausted, first_violation, rules, `spent.kind`, `spent.stage`, `spent.peer`,
    `spent.ns`, `spent.calls`, `spent.degraded`, services, stages, peers, causes)
SELECT
    if(holder, front, back) AS service,
    if(holder, t.route, t.back_route) AS route,
    fromUnixTimestamp64Nano(if(holder, t.ts, t.ts + generate_at + network), 'UTC') AS ts,
    toFixedString(concat(id_1, id_2), 16) AS trace_id,
    reinterpretAsFixedString(cityHash64(n, if(holder, 0, 3))) AS span_id,
    'Server' AS kind,
    holder,
    'bench' AS environment,
    '1.0.0' AS service_version,
    if(holder, 'chat', '') AS channel,
    if(holder, if(large, 'large', 'small'), '') AS payload_class,
    'eu-1' AS region,
    true AS complete,
    if(holder, length, generate) AS duration_ns,
    if(holder, budget, cap) AS budget_ns,
    if(holder, t.margin, cap - generate) AS margin_ns,
    if(answered, 'done', 'cancelled') AS outcome,
    multiIf(holder AND left_early, 'benign', exhausted OR late, 'late_or_failed', 'in_time') AS class,
    NOT holder OR done AS answered,
    answered AND margin_ns < 0 AS late,
    holder AND ended AS exhausted,
    multiIf(left_early, 'orphan_work', late, 'late', exhausted, 'exhausted', '') AS first_violation,
    if(first_violation = '', [], [first_violation]) AS rules,
    if(holder, ['hop', 'hop', 'own_work'], ['own_work']) AS `spent.kind`,
    if(holder, ['generate', 'retrieve', ''], ['']) AS `spent.stage`,
    if(holder, [back, 'index', ''], ['']) AS `spent.peer`,
    if(holder, [waited, retrieve, length - waited - retrieve], [generate]) AS `spent.ns`,
    if(holder, [1, 1, 0], [0]) AS `spent.calls`,
    if(holder, [0, 0, 0], [0]) AS `spent.degraded`,
    if(holder, [back, front], []) AS services,
    if(holder, ['generate', 'retrieve'], []) AS stages,
    if(holder, [back, front, 'index'], []) AS peers,
    if(NOT holder, [], multiIf(left_early, ['client_disconnect', 'upstream_cancel'], ended, ['local_deadline'], [])) AS causes
FROM
(
@traces
) AS t
ARRAY JOIN [true, false] AS holder
