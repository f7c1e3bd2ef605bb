"""Stream processing of one turn: provider chunks in, events out, with cancellation and timeouts."""
