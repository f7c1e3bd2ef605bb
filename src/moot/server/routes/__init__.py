"""The API routes. Each file holds one resource."""
