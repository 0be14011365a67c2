SELECT name, sum(n) FROM counter
WHERE (?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR hour >= ?2) AND (?3 IS NULL OR hour < ?3)
GROUP BY name
