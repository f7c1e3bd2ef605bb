"""Storage of runs: event log, leases, retries, approvals and workers."""
