"""Tools that participants can call: catalog, calls and approvals."""
