"""LLM-as-judge: evaluate an answer, and improve a persona by its evaluations."""
