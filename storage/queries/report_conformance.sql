-- What do services record of budgets? One row per service, the least complete first.
-- from, to     nanoseconds since 1970, from inclusive, to exclusive
-- service      exact; '' means any
-- limit, skip  rows
-- Facts that were derived later do not count as recorded. headers_due are calls with a recorded remainder whose callee is here,
-- headers_passed those whose callee took its budget from the caller. A cancellation is in time within its clean-up budget, else
-- within 100 ms. incomplete are spans that lack a companion of what they carry: a budget its outcome or margin, a remainder before
-- a call the one after it, a recorded cancellation whether it was confirmed. Reads the months of the window; with a service, the
-- prefix (service) of the sort key for its own spans.
WITH
    splitByChar(',', inferred_rule) AS rules,
    entry AND kind IN ('Server', 'Consumer') AS request,
    kind IN ('Client', 'Producer') AS call,
    request AND isNotNull(budget_received_ns) AND NOT has(rules, 'budget_from') AS budgeted,
    outcome != '' AND arrayAll(rule -> rule IN ('', 'margin_from_duration', 'post_cancel_from_duration', 'budget_from'), rules) AS has_outcome,
    isNotNull(margin_ns) AND NOT has(rules, 'margin_from_duration') AS has_margin,
    call AND isNotNull(remaining_before_ns) AS remained,
    isNotNull(cancel_after_ns) AS signalled,
    ifNull(cancel_confirmed, false) AND ifNull(post_cancel_time_ns, 0) <= ifNull(cleanup_budget_ns, 100000000) AS stopped,
    budgeted AND NOT (has_outcome AND has_margin) OR remained AND isNull(remaining_after_ns) OR signalled AND isNull(cancel_confirmed) AS lacking
SELECT
    service,
    arraySort(groupUniqArrayIf(10)(service_version, service_version != '')) AS versions,
    count() AS spans,
    countIf(request) AS requests,
    countIf(budgeted) AS budgets,
    countIf(budgeted AND has_outcome) AS outcomes,
    countIf(budgeted AND has_margin) AS margins,
    countIf(call) AS calls,
    countIf(remained) AS remainders,
    countIf(remained AND isNotNull(remaining_after_ns)) AS ends,
    countIf(remained AND passed.call != 0) AS headers_due,
    countIf(remained AND passed.took) AS headers_passed,
    countIf(signalled) AS signals,
    countIf(signalled AND isNotNull(cancel_confirmed)) AS told,
    countIf(signalled AND stopped) AS in_time,
    sum(length(`open_child.span_id`)) AS left_open,
    countIf(ifNull(inferred, false)) AS derived,
    countIf(lacking) AS incomplete
FROM
(
    SELECT *, cityHash64(trace_id, span_id) AS id
    FROM hops FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND ({service:String} = '' OR service = {service:String})
        AND NOT has({not_service:Array(String)}, service)
) AS own
LEFT JOIN
(
    SELECT cityHash64(trace_id, parent_span_id) AS call, max(budget_source IN ('caller', 'clamped', 'raised', 'envelope')) AS took
    FROM hops
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
        AND kind IN ('Server', 'Consumer')
        AND is_deleted = 0
    GROUP BY call
) AS passed ON passed.call = own.id
GROUP BY service
ORDER BY incomplete / spans DESC, (requests - budgets) / spans DESC, service
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
