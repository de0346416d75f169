-- report_phases.sql from rollups.
WITH
    k -> toInt64(if(k = 0, 0., sign(k) * exp2((abs(k) - 0.5) / 16))) AS middle,
    measure = 'time' AS timed
SELECT
    service, peer, detail AS phase,
    toUInt64(round(sumIf(represented, NOT timed))) AS timeouts,
    toUInt64(round(sumIf(represented, measure = 'timeout.reused'))) AS reused,
    toUInt64(round(sumIf(represented, measure = 'timeout.fresh'))) AS fresh,
    toUInt64(round(sumIf(represented, timed))) AS measured,
    if(measured = 0, NULL, middle(quantileExactWeightedArrayIf(0.5)(mapKeys(spread), mapValues(spread), timed))) AS p50,
    if(measured = 0, NULL, middle(quantileExactWeightedArrayIf(0.99)(mapKeys(spread), mapValues(spread), timed))) AS p99
FROM
@tally(phases) AS t
WHERE ({peer:String} = '' OR peer = {peer:String})
    AND NOT has({not_peer:Array(String)}, peer)
    AND ({phase:String} = '' OR detail = {phase:String})
    AND NOT has({not_phase:Array(String)}, detail)
GROUP BY service, peer, phase
ORDER BY timeouts DESC, measured DESC, service, peer, phase
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
