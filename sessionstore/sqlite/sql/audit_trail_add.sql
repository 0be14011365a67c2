INSERT INTO audit_trail (at, tenant, actor, action, target, detail)
VALUES (?, ?, ?, ?, ?, ?)
