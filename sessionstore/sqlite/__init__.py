"""The embedded driver: SQLite, WAL, synchronous=FULL."""
