SELECT id, at, tenant, actor, action, target, detail FROM audit_trail ORDER BY id DESC LIMIT ?
