"""Model providers: one interface that turns a request into a stream of chunks."""
