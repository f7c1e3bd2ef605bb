"""A whole discussion as one file to keep: Markdown, JSON, or a page that needs nothing but itself."""
