"""The tests: one folder a kind, from pure units to the whole app under faults."""
