"""Wire formats of the providers, from the server side."""
