"""Accounts, credentials, provider keys and tool servers."""
