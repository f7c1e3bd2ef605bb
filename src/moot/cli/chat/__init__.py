"""`moot chat`: a discussion in the terminal."""
