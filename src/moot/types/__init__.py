"""Value types that every layer uses. No I/O, and no imports from other layers."""
