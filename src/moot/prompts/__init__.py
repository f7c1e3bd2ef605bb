"""Prompt building: pure functions that turn the visible messages of a discussion into a model request."""
