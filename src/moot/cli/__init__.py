"""The command line: `moot ask`, `moot serve`, `moot chat` and the others."""
