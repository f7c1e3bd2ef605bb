"""One interface to every language model: a provider turns a request into a stream of chunks."""
