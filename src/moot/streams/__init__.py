"""From a stream of chunks to a turn: capture of thoughts, stop, time-outs, and the result."""
