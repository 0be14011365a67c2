UPDATE outbox SET external_id = ? WHERE pos = ? AND claim = ?
