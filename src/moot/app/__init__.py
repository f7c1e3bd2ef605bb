"""The composition root and the life of a process: services, logging, event loop, database lock."""
