UPDATE session SET lease_until = 0 WHERE owner IS NOT NULL
