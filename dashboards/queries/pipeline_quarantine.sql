-- Which spans could not be kept with the others, and why?
SELECT reason, service, count() AS spans, max(ingested_at) AS latest
FROM quarantine
WHERE $__timeFilter(ingested_at)
GROUP BY reason, service
ORDER BY spans DESC, reason, service
LIMIT 100
