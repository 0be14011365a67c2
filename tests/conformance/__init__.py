"""One suite for each seam, written against its Protocol and run against every driver."""
