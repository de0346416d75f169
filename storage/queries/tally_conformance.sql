-- report_conformance.sql from rollups.
SELECT
    service,
    arraySort(groupUniqArrayIf(10)(toString(detail), measure = 'span' AND detail != '')) AS versions,
    toUInt64(sumIf(represented, measure = 'span')) AS spans,
    toUInt64(sumIf(represented, measure = 'request')) AS requests,
    toUInt64(sumIf(represented, measure = 'budget')) AS budgets,
    toUInt64(sumIf(represented, measure = 'outcome')) AS outcomes,
    toUInt64(sumIf(represented, measure = 'margin')) AS margins,
    toUInt64(sumIf(represented, measure = 'call')) AS calls,
    toUInt64(sumIf(represented, measure = 'remainder')) AS remainders,
    toUInt64(sumIf(represented, measure = 'end')) AS ends,
    sumIf(seen, measure = 'due') AS headers_due,
    sumIf(seen, measure = 'passed') AS headers_passed,
    toUInt64(sumIf(represented, measure = 'signal')) AS signals,
    toUInt64(sumIf(represented, measure = 'told')) AS told,
    toUInt64(sumIf(represented, measure = 'in_time')) AS in_time,
    toUInt64(sumIf(represented, measure = 'left_open')) AS left_open,
    toUInt64(sumIf(represented, measure = 'derived')) AS derived,
    toUInt64(sumIf(represented, measure = 'incomplete')) AS incomplete
FROM
(
    SELECT service, measure, detail, seen, represented
    FROM
@tally(services) AS s
    WHERE measure NOT IN ('entry', 'entry.budgeted', 'route', 'stage', 'peer')
    UNION ALL
    SELECT service, measure, '' AS detail, seen, represented
    FROM
@tally(edges) AS e
    WHERE measure IN ('due', 'passed')
)
GROUP BY service
HAVING spans > 0
ORDER BY incomplete / spans DESC, (requests - budgets) / spans DESC, service
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
