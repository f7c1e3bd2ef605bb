"""Moot from Python: tables in this process, without a server, and with nothing kept."""
