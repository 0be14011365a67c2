SELECT o.effect_id, o.state FROM json_each(?) w JOIN outbox o ON o.effect_id = w.value
