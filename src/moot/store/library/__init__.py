"""Personas, projects, presets, insights and evaluations."""
