-- What report_dependencies.sql tells of the window before the one asked for, from rollups: the calls that were not cut. One row per caller, peer
-- and stage.
-- slots  how many lie in which bucket of the spread
SELECT service, peer, stage, sum(seen) AS times, sumMap(spread) AS slots
FROM
@tally(calls) AS t
WHERE startsWith(measure, 'call.')
    AND detail = ''
    AND ({stage:String} = '' OR stage = {stage:String})
    AND NOT has({not_stage:Array(String)}, stage)
    AND ({peer:String} = '' OR peer = {peer:String})
    AND NOT has({not_peer:Array(String)}, peer)
GROUP BY service, peer, stage
LIMIT {limit:UInt32}
