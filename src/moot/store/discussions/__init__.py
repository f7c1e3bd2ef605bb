"""Discussions, messages, search and files."""
