"""Benchmarks of Moot. Each one is a module: `python -m bench.NAME` measures on this machine and prints the results."""
