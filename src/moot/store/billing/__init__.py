"""Charges, usage and budgets."""
