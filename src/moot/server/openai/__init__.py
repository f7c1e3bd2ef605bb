"""The OpenAI-compatible endpoint under `/v1`."""
