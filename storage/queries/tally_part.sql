    SELECT measure, service, toUnixTimestamp64Nano(at) AS start, route, stage, peer, detail, seen, represented, total, most, last, spread, examples
    FROM @table FINAL
    WHERE subject = '@subject'
        AND at >= fromUnixTimestamp64Nano({@from:Int64}, 'UTC')
        AND at < fromUnixTimestamp64Nano({@to:Int64}, 'UTC')
        AND ({service:String} = '' OR service = {service:String})
        AND NOT has({not_service:Array(String)}, service)
        AND @clean
        AND scheme = 1
