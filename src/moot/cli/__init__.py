"""The command line, and the composition root that builds everything from the settings."""
