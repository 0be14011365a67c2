"""Faults on the real process: kills, pauses, a full disk."""
