"""Tools of participants: catalog, calls and approvals."""
