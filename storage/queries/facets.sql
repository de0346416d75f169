-- What may the traces of a window be narrowed by, and how many have each value? One row per facet and value, the most frequent
-- first; a row with the facet 'traces' counts all.
-- from, to                      nanoseconds since 1970, from inclusive, to exclusive
-- service, route, environment,  of the entry, exact; '' means any. With a service or route a trace is counted by its topmost entry that
--   version, outcome, class     fits, else by its account holder.
-- late, exhausted, answered     of the entry; NULL means any
-- margin_lt, margin_gt,         of the entry, nanoseconds, exclusive; NULL means any
--   duration_lt, duration_gt
-- rule                          of a finding; '' means any
-- stage, peer, cause, phase     of one span within an hour of the window that fits all of them; '' means any
-- not_service, not_route, not_environment, not_version, not_outcome, not_class, not_rule  none of these
-- not_stage, not_peer, not_cause, not_phase  no span within an hour of the window has one of these
-- limit                         values of each facet
-- Reads the months of the window; with a service and route, the prefix of the sort key. Sampled traces count as many as they
-- stand for.
WITH fitting AS
(
    SELECT trace_id, weight, service, route, environment, service_version, channel, outcome, class, late, first_violation, rules, sample
    FROM accounts FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        AND (({service:String} = '' AND {route:String} = '' AND holder)
            OR (({service:String} != '' OR {route:String} != '')
                AND ({service:String} = '' OR service = {service:String})
                AND ({route:String} = '' OR route = {route:String})))
        AND ({environment:String} = '' OR environment = {environment:String})
        AND ({version:String} = '' OR service_version = {version:String})
        AND ({outcome:String} = '' OR outcome = {outcome:String})
        AND ({class:String} = '' OR class = {class:String})
        AND (isNull({late:Nullable(Bool)}) OR late = {late:Nullable(Bool)})
        AND (isNull({exhausted:Nullable(Bool)}) OR exhausted = {exhausted:Nullable(Bool)})
        AND (isNull({answered:Nullable(Bool)}) OR answered = {answered:Nullable(Bool)})
        AND (isNull({duration_lt:Nullable(Int64)}) OR duration_ns < {duration_lt:Nullable(Int64)})
        AND (isNull({duration_gt:Nullable(Int64)}) OR duration_ns > {duration_gt:Nullable(Int64)})
        AND NOT has({not_service:Array(String)}, service)
        AND NOT has({not_route:Array(String)}, route)
        AND NOT has({not_environment:Array(String)}, environment)
        AND NOT has({not_version:Array(String)}, service_version)
        AND NOT has({not_outcome:Array(String)}, outcome)
        AND NOT has({not_class:Array(String)}, class)
        AND NOT hasAny({not_rule:Array(String)}, rules)
        AND (isNull({margin_lt:Nullable(Int64)}) OR margin_ns < {margin_lt:Nullable(Int64)})
        AND (isNull({margin_gt:Nullable(Int64)}) OR margin_ns > {margin_gt:Nullable(Int64)})
        AND ({rule:String} = '' OR has(rules, {rule:String}))
        AND (({stage:String} = '' AND {peer:String} = '' AND {cause:String} = '' AND {phase:String} = '') OR trace_id IN (
            SELECT trace_id
            FROM hops
            WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
                AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
                AND ({stage:String} != '' OR {peer:String} != '' OR {cause:String} != '' OR {phase:String} != '')
                AND is_deleted = 0
                AND ({stage:String} = '' OR if(stage = '', name, stage) = {stage:String})
                AND ({peer:String} = '' OR peer = {peer:String} OR (service = {peer:String} AND kind IN ('Server', 'Consumer')))
                AND ({cause:String} = '' OR cancel_cause = {cause:String})
                AND ({phase:String} = '' OR timeout_phase = {phase:String})
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
    ORDER BY holder DESC, ts, span_id
    LIMIT 1 BY trace_id
)
SELECT part.1 AS facet, part.2 AS value, toUInt64(round(sum(weight))) AS traces, count() OVER (PARTITION BY facet) AS distinct
FROM
(
    SELECT weight, arrayConcat(
        [('traces', ''), ('service', toString(service)), ('route', toString(route)), ('outcome', toString(outcome)), ('class', toString(class)),
            ('late', if(late, 'true', 'false')), ('sample', if(sample, 'true', 'false')), ('environment', toString(environment)),
            ('version', toString(service_version)), ('channel', toString(channel)), ('first_violation', toString(first_violation))],
        arrayMap(r -> ('rule', toString(r)), rules)) AS parts
    FROM fitting
    UNION ALL
    SELECT weight, arrayConcat(
        arrayMap(x -> ('stage', toString(x)), stages), arrayMap(x -> ('peer', toString(x)), peers),
        arrayMap(x -> ('cause', toString(x)), causes), arrayMap(x -> ('phase', toString(x)), phases)) AS parts
    FROM accounts FINAL
    WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
        AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)
        AND holder
        AND trace_id IN (SELECT trace_id FROM fitting)
)
ARRAY JOIN parts AS part
WHERE part.2 != '' OR part.1 = 'traces'
GROUP BY facet, value
ORDER BY facet, traces DESC, value
LIMIT {limit:UInt32} BY facet
