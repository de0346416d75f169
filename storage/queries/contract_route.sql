-- What did one route do, of all that it can promise? One row.
-- from, to        nanoseconds since 1970, from inclusive, to exclusive
-- service, route  exact
-- environment     of the entry, exact; '' means any
-- The prefix (service) of the sort key.
WITH
    -- A request that was refused for lack of time may have been granted nothing, but it did ask.
    isNotNull(budget_received_ns) OR (exhausted AND isNotNull(budget_requested_ns)) AS budgeted,
    answered AND isNotNull(budget_received_ns) AND isNotNull(margin_ns) AS measured,
    budgeted AND ((answered AND ifNull(h.late, false)) OR exhausted) AS missed,
    toUInt64(greatest(round(weight * 16), 1)) AS times
SELECT
    countIf(budgeted) AS requests,
    sumIf(weight, budgeted) AS represented,
    countIf(measured) AS answers,
    countIf(isNotNull(budget_received_ns)) AS budgets,
    max(ifNull(budget_received_ns, 0)) AS budget_most,
    quantileExactWeightedIf(0.05)(ifNull(budget_received_ns, 0), times, isNotNull(budget_received_ns)) AS budget_p05,
    quantilesExactWeightedIf(0.01, 0.05, 0.1, 0.25, 0.5)(ifNull(margin_ns, 0), times, measured) AS margins,
    sumIf(weight, missed) / sumIf(weight, budgeted) AS missed_ratio,
    sumIf(weight, budgeted AND NOT missed AND answered AND outcome IN ('degraded', 'partial')) / sumIf(weight, budgeted) AS degraded_ratio
FROM hops AS h FINAL
WHERE service = {service:String}
    AND ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND entry
    AND route = {route:String}
    AND ({environment:String} = '' OR environment = {environment:String})
