"""Measurements of Moot; every figure comes from a run on the machine that prints it."""
