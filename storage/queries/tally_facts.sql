-- How the facts of a subject become rows of a tally: one per bucket, measure and what tells its rows apart.
-- width  of the buckets in nanoseconds
WITH @kept
SELECT
    measure, service, bucket, route, stage, peer, detail,
    sum(n) AS seen, kept(sumKahan(represents)) AS represented, kept(sumKahan(summed)) AS total, max(greatest_value) AS most, max(latest) AS last,
    mapSort(mapFromArrays(groupArrayIf(slot, spreads), groupArrayIf(times, spreads))) AS spread,
    groupArraySortedArray(6)(shown) AS examples
FROM
(
    SELECT
        measure, service, ts - ts % {width:Int64} AS bucket, route, stage, peer, detail, spreads,
        toInt16(if(spreads AND value != 0, sign(value) * (1 + floor(16 * log2(abs(value)))), 0)) AS slot,
        count() AS n, sumKahan(weight) AS represents, sumKahan(weight * value) AS summed, max(value) AS greatest_value, maxIf(ts, dated) AS latest,
        sum(toUInt64(greatest(round(weight * 16), 1))) AS times,
        groupArraySortedIf(6)((-value, trace_id), exemplary) AS shown
    FROM
    (
@facts
    )
    GROUP BY measure, service, bucket, route, stage, peer, detail, spreads, slot
)
GROUP BY measure, service, bucket, route, stage, peer, detail
