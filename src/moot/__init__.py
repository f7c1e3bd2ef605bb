"""Several language models and personas around one table."""

__version__ = "0.1.0"
