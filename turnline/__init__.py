"""Turnline: one session, one turn at a time, on any channel."""
