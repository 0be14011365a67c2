INSERT INTO counter (tenant, name, hour, writer, n)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant, name, hour, writer) DO UPDATE SET n = n + excluded.n
