SELECT s.tenant, s.session, s.seq FROM json_each(?) w
JOIN session s ON s.tenant = w.value ->> 0 AND s.session = w.value ->> 1
