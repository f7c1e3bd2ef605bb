"""The face of an OpenAI server: its paths, shapes and errors, before Moot's tables."""
