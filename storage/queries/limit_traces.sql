-- In which traces did calls of one edge end at its limit? One row per trace.
-- service, peer, place  the edge; peer as the calls name it
-- low, high             nanoseconds, the lengths at the limit, both inclusive
-- limit                 rows, the newest
-- The prefix (service, kind) of the sort key.
SELECT lower(hex(trace_id)) AS trace, toUInt64(count()) AS hops
FROM hops
WHERE service = {service:String}
    AND kind = 'Client'
    AND peer = {peer:String}
    AND if(stage = '', name, stage) = {place:String}
    AND duration_ns >= {low:Int64}
    AND duration_ns <= {high:Int64}
    AND is_deleted = 0
GROUP BY trace_id
ORDER BY max(ts) DESC, trace
LIMIT {limit:UInt32}
