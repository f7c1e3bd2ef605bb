"""The failure lab: scripted models over real sockets, in three wire formats, with everything that can go wrong."""
