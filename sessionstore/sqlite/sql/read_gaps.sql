SELECT s.tenant, s.session, s.seq, count(t.seq), coalesce(min(t.seq), 0), coalesce(max(t.seq), 0)
FROM session s LEFT JOIN transcript t ON t.tenant = s.tenant AND t.session = s.session
WHERE ?1 IS NULL OR s.tenant = ?1
GROUP BY s.tenant, s.session
HAVING count(t.seq) <> s.seq OR (s.seq > 0 AND (min(t.seq) <> 1 OR max(t.seq) <> s.seq))
