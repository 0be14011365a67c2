"""Benchmarks: one a speed file, run by hand as `python -m tests.bench.NAME`; never a pass or fail by time."""
