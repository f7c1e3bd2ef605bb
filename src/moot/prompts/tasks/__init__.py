"""Structured questions to a model: the prompt, the type of the answer, its check."""
