"""Prompts: pure functions from the visible messages of a discussion to a model request."""
