-- facets: what traces may be narrowed by. measure is the facet, detail its value. The account holder of a trace tells of it.
SELECT part.1 AS measure, '' AS service, at AS ts, '' AS route, '' AS stage, '' AS peer, part.2 AS detail, weight, 0. AS value, false AS spreads,
    false AS exemplary, false AS dated, trace_id
FROM
(
    SELECT toUnixTimestamp64Nano(ts) AS at, weight, trace_id, arrayConcat(
        [('traces', ''), ('service', toString(service)), ('route', toString(route)), ('outcome', toString(outcome)), ('class', toString(class)),
            ('late', if(late, 'true', 'false')), ('sample', if(sample, 'true', 'false')), ('environment', toString(environment)),
            ('version', toString(service_version)), ('channel', toString(channel)), ('first_violation', toString(first_violation))],
        arrayMap(r -> ('rule', toString(r)), rules), arrayMap(x -> ('stage', toString(x)), stages), arrayMap(x -> ('peer', toString(x)), peers),
        arrayMap(x -> ('cause', toString(x)), causes), arrayMap(x -> ('phase', toString(x)), phases)) AS parts
    FROM accounts FINAL
    WHERE @when AND holder
)
ARRAY JOIN parts AS part
WHERE part.2 != '' OR part.1 = 'traces'
