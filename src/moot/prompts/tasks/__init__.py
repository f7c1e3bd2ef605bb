"""Small structured questions to a model: prompt, answer type and check."""
