-- facets.sql without filters, from rollups.
SELECT measure AS facet, detail AS value, toUInt64(round(sum(represented))) AS traces, count() OVER (PARTITION BY facet) AS distinct
FROM
@tally(facets) AS t
GROUP BY facet, value
ORDER BY facet, traces DESC, value
LIMIT {limit:UInt32} BY facet
