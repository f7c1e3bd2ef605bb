"""Model tasks with structured output: prompt, answer type, validation."""
