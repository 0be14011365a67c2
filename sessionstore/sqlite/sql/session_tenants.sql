WITH RECURSIVE found (tenant) AS (
    SELECT (SELECT min(tenant) FROM session WHERE due IS NOT NULL)
    UNION ALL
    SELECT (SELECT min(tenant) FROM session WHERE due IS NOT NULL AND tenant > found.tenant)
    FROM found WHERE found.tenant IS NOT NULL
)
SELECT tenant FROM found WHERE tenant IS NOT NULL
