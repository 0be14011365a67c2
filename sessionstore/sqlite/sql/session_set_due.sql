UPDATE session SET due = ? WHERE tenant = ? AND session = ?
