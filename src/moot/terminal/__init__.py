"""Readers of a run for the terminal."""
