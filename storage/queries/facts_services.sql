-- services: what services record, by their own facts. detail is the version, but for route, stage and peer, where it is the value.
-- span                counts spans
-- entry               counts entries, entry.budgeted those with a budget
-- route, stage, peer  count the spans with what they may be filtered by
-- the others          what report_conformance.sql counts
SELECT name AS measure, service, latest AS ts, '' AS route, '' AS stage, '' AS peer,
    multiIf(name = 'route', h_route, name = 'stage', h_stage, name = 'peer', h_peer, h_version) AS detail, toFloat64(number) AS weight, 0. AS value, false AS spreads,
    false AS exemplary, name = 'span' AS dated, toFixedString('', 16) AS trace_id
FROM
(
    WITH
        splitByChar(',', inferred_rule) AS rules,
        entry AND kind IN ('Server', 'Consumer') AS is_request,
        kind IN ('Client', 'Producer') AS is_call,
        is_request AND isNotNull(budget_received_ns) AND NOT has(rules, 'budget_from') AS is_budgeted,
        outcome != '' AND (inferred_rule = '' OR arrayAll(rule -> rule IN ('margin_from_duration', 'post_cancel_from_duration', 'budget_from'), rules)) AS has_outcome,
        isNotNull(margin_ns) AND NOT has(rules, 'margin_from_duration') AS has_margin,
        is_call AND isNotNull(remaining_before_ns) AS remained,
        isNotNull(cancel_after_ns) AS signalled,
        ifNull(cancel_confirmed, false) AND ifNull(post_cancel_time_ns, 0) <= ifNull(cleanup_budget_ns, 100000000) AS stopped
    SELECT
        service, route AS h_route, stage AS h_stage, peer AS h_peer, service_version AS h_version, max(toUnixTimestamp64Nano(ts)) AS latest,
        [
            count(), countIf(entry), countIf(entry AND isNotNull(budget_received_ns)), countIf(entry AND route != ''), countIf(stage != ''), countIf(peer != ''),
            countIf(is_request), countIf(is_budgeted), countIf(is_budgeted AND has_outcome), countIf(is_budgeted AND has_margin), countIf(is_call), countIf(remained),
            countIf(remained AND isNotNull(remaining_after_ns)), countIf(signalled), countIf(signalled AND isNotNull(cancel_confirmed)), countIf(signalled AND stopped),
            sum(length(`open_child.span_id`)), countIf(ifNull(inferred, false)),
            countIf(is_budgeted AND NOT (has_outcome AND has_margin) OR remained AND isNull(remaining_after_ns) OR signalled AND isNull(cancel_confirmed))
        ] AS numbers
    FROM hops FINAL
    WHERE @when
    GROUP BY service, h_route, h_stage, h_peer, h_version, intDiv(toUnixTimestamp64Nano(ts), {width:Int64})
)
ARRAY JOIN
    CAST(['span', 'entry', 'entry.budgeted', 'route', 'stage', 'peer', 'request', 'budget', 'outcome', 'margin', 'call', 'remainder', 'end', 'signal', 'told',
        'in_time', 'left_open', 'derived', 'incomplete'], 'Array(LowCardinality(String))') AS name,
    numbers AS number
WHERE number > 0
