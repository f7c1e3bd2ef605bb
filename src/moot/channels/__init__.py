"""Where people read and write: for now the terminal."""
