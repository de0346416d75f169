-- How much work did all services together do for nobody in traces whose account is a route's? One row, nanoseconds. The traces began
-- in the window; the work may have begun up to an hour later.
-- from, to        nanoseconds since 1970, from inclusive, to exclusive
-- service, route  exact, of the account
-- environment     of the entry, exact; '' means any
-- The index on ts.
SELECT toInt64(round(sum(weight * ifNull(amount_ns, 0)))) AS orphan
FROM verdicts FINAL
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
    AND rule = 'orphan_work'
    AND entry_service = {service:String}
    AND route = {route:String}
    AND trace_id IN
    (
        SELECT trace_id
        FROM hops
        WHERE service = {service:String}
            AND ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
            AND entry
            AND is_deleted = 0
            AND route = {route:String}
            AND ({environment:String} = '' OR environment = {environment:String})
    )
