-- Which traces may fit? One row per entry span, newest first; the same trace comes once for each of its entries, and a span
-- that was written twice may come twice. What cannot be told from one span is judged by the caller.
-- from, to                   nanoseconds since 1970, from inclusive, to exclusive
-- before_ts, before_trace,   where the previous page ended, exclusive: nanoseconds and hexadecimal digits
--   before_span
-- service, route, outcome,   of the entry, exact; '' means any
--   environment, version
-- late, exhausted, answered  of the entry; NULL means any
-- margin_lt, margin_gt,      of the entry, nanoseconds, exclusive; NULL means any
--   duration_lt, duration_gt
-- stage, peer, cause, phase  of one span within an hour of the window that fits all of them; '' means any. A peer is called
--                            under its own service or under the name its caller recorded.
-- places_*                   of a call within an hour of the window, by its caller, peer and stage: at least so long, and allowed less
--                            than so much, in nanoseconds; empty means any
-- rule                       of a finding of the trace, '' means any; traces of which something arrived since judged,
-- judged                     milliseconds since 1970, come too, because their findings may be others by now
-- not_service, not_route,    of the entry: none of these
--   not_outcome, not_environment, not_version
-- not_stage, not_peer,       no span within an hour of the window has one of these
--   not_cause, not_phase
-- not_rule                   as rule: traces without these, and those of which something arrived since judged
-- limit                      rows
-- Reads the months of the window; with a service, the prefix (service) of the sort key. ts is read first: of a granule with nothing in the window,
-- which there is one of for each place and part, nothing else.
SELECT
    toUnixTimestamp64Nano(ts) AS at,
    lower(hex(trace_id)) AS trace,
    lower(hex(span_id)) AS span
FROM hops
PREWHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND entry
    AND is_deleted = 0
    AND ({service:String} = '' OR service = {service:String})
    AND ({route:String} = '' OR route = {route:String})
    AND ({outcome:String} = '' OR outcome = {outcome:String})
    AND ({environment:String} = '' OR environment = {environment:String})
    AND ({version:String} = '' OR service_version = {version:String})
    AND (isNull({late:Nullable(Bool)}) OR ifNull(late, false) = {late:Nullable(Bool)})
    AND (isNull({exhausted:Nullable(Bool)}) OR exhausted = {exhausted:Nullable(Bool)})
    AND (isNull({answered:Nullable(Bool)}) OR answered = {answered:Nullable(Bool)})
    AND (isNull({duration_lt:Nullable(Int64)}) OR duration_ns < {duration_lt:Nullable(Int64)})
    AND (isNull({duration_gt:Nullable(Int64)}) OR duration_ns > {duration_gt:Nullable(Int64)})
    AND NOT has({not_service:Array(String)}, service)
    AND NOT has({not_route:Array(String)}, route)
    AND NOT has({not_outcome:Array(String)}, outcome)
    AND NOT has({not_environment:Array(String)}, environment)
    AND NOT has({not_version:Array(String)}, service_version)
    AND (isNull({margin_lt:Nullable(Int64)}) OR margin_ns < {margin_lt:Nullable(Int64)})
    AND (isNull({margin_gt:Nullable(Int64)}) OR margin_ns > {margin_gt:Nullable(Int64)})
WHERE (toUnixTimestamp64Nano(ts), trace_id, span_id)
        < ({before_ts:Int64}, toFixedString(unhex({before_trace:String}), 16), toFixedString(unhex({before_span:String}), 8))
    AND (({stage:String} = '' AND {peer:String} = '' AND {cause:String} = '' AND {phase:String} = '') OR trace_id IN (
        SELECT trace_id
        FROM hops
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
            AND ({stage:String} != '' OR {peer:String} != '' OR {cause:String} != '' OR {phase:String} != '')
            AND ({stage:String} = '' OR if(stage = '', name, stage) = {stage:String})
            AND ({peer:String} = '' OR peer = {peer:String} OR (service = {peer:String} AND kind IN ('Server', 'Consumer')))
            AND ({cause:String} = '' OR cancel_cause = {cause:String})
            AND ({phase:String} = '' OR timeout_phase = {phase:String})
    ))
    AND (empty({places_service:Array(String)}) OR trace_id IN (
        SELECT trace_id
        FROM hops
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
            AND NOT entry
            AND is_deleted = 0
            AND service IN {places_service:Array(String)}
            AND arrayExists((s, p, g, long, short) -> s = service AND p = peer AND g = if(stage = '', name, stage)
                AND duration_ns >= long AND ifNull(allowance_ns, 0) < short,
                {places_service:Array(String)}, {places_peer:Array(String)}, {places_stage:Array(String)}, {places_long:Array(Int64)}, {places_short:Array(Int64)})
    ))
    AND ({rule:String} = '' OR trace_id IN (
        SELECT trace_id
        FROM verdicts FINAL
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
            AND rule = {rule:String}
    ) OR trace_id IN (
        SELECT trace_id
        FROM hops
        WHERE {rule:String} != ''
            AND ingested_at >= fromUnixTimestamp64Milli({judged:Int64}, 'UTC')
    ))
    AND (empty(arrayConcat({not_stage:Array(String)}, {not_peer:Array(String)}, {not_cause:Array(String)}, {not_phase:Array(String)})) OR trace_id NOT IN (
        SELECT trace_id
        FROM hops
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
            AND notEmpty(arrayConcat({not_stage:Array(String)}, {not_peer:Array(String)}, {not_cause:Array(String)}, {not_phase:Array(String)}))
            AND is_deleted = 0
            AND (has({not_stage:Array(String)}, if(stage = '', name, stage))
                OR has({not_peer:Array(String)}, peer)
                OR (has({not_peer:Array(String)}, service) AND kind IN ('Server', 'Consumer'))
                OR has({not_cause:Array(String)}, cancel_cause)
                OR has({not_phase:Array(String)}, timeout_phase))
    ))
    AND (empty({not_rule:Array(String)}) OR trace_id NOT IN (
        SELECT trace_id
        FROM verdicts FINAL
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
            AND has({not_rule:Array(String)}, rule)
    ) OR trace_id IN (
        SELECT trace_id
        FROM hops
        WHERE notEmpty({not_rule:Array(String)})
            AND ingested_at >= fromUnixTimestamp64Milli({judged:Int64}, 'UTC')
    ))
ORDER BY ts DESC, trace_id DESC, span_id DESC
LIMIT {limit:UInt32}
