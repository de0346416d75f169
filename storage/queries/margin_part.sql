    SELECT service, route, toUnixTimestamp64Nano(at) AS start, requests, represented, with_budget, answered, late, exhausted, margins, budgets, margin, used, budget
    FROM @table FINAL
    WHERE at >= fromUnixTimestamp64Nano({@from:Int64}, 'UTC')
        AND at < fromUnixTimestamp64Nano({@to:Int64}, 'UTC')
        AND @clean
        AND (empty({dirty_minutes:Array(Int64)}) OR start NOT IN {dirty_minutes:Array(Int64)})
        AND ({service:String} = '' OR service = {service:String})
        AND ({route:String} = '' OR route = {route:String})
        AND scheme = 1
