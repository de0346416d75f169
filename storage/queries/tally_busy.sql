-- How long do services work? One row per service, in nanoseconds: all of its requests.
SELECT service, sum(total) AS time
FROM
@tally(entries) AS t
WHERE measure = 'request'
GROUP BY service
