"""Provider chunks to turn events: reasoning extraction, cancellation, time-outs, the result of a turn."""
