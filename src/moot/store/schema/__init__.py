"""The tables of the database, one module a domain. Rows of users belong to a tenant, and every query filters by it.

Importing the package registers all of them in `metadata`.
"""

from moot.store.schema import accounts, billing, discord, discussions, library, runs, server
from moot.store.schema.columns import metadata

__all__ = ["accounts", "billing", "discord", "discussions", "library", "metadata", "runs", "server"]
