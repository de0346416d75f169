-- Which timeouts did nobody record? One row per caller, callee and operation, those that cost most work first.
-- from, to       nanoseconds since 1970, of the last call that was cut, from inclusive, to exclusive
-- service, peer  exact; '' means any
-- limit, skip    rows
-- A small table, read whole.
SELECT
    caller, address, operation, peer, limit_ns, from_ns, to_ns, round, calls, cut, beyond, outlived, timed_out, failed, after_ns,
    estimate_ns, past, confidence, examples, toUnixTimestamp64Nano(seen_at) AS seen
FROM limits FINAL
WHERE seen_at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND seen_at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND ({service:String} = '' OR caller = {service:String})
    AND NOT has({not_service:Array(String)}, caller)
    AND ({peer:String} = '' OR peer = {peer:String})
    AND NOT has({not_peer:Array(String)}, peer)
ORDER BY estimate_ns DESC, cut DESC, caller, address, operation
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
