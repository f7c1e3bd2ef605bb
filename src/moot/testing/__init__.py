"""Test servers: a fake model provider with injected faults, and a fake Discord."""
