"""Server side of the wire formats: parses requests and builds response frames."""
