-- services.sql from rollups.
SELECT
    service,
    toUInt64(sumIf(represented, measure = 'entry')) AS requests,
    toUInt64(sumIf(represented, measure = 'entry.budgeted')) AS with_budget,
    maxIf(last, measure = 'span') AS last_seen,
    arraySort(groupUniqArrayIf(100)(toString(detail), measure = 'route')) AS routes,
    arraySort(groupUniqArrayIf(100)(toString(detail), measure = 'stage')) AS stages,
    arraySort(groupUniqArrayIf(100)(toString(detail), measure = 'peer')) AS peers
FROM
@tally(services) AS t
WHERE measure IN ('span', 'entry', 'entry.budgeted', 'route', 'stage', 'peer')
GROUP BY service
ORDER BY service
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
