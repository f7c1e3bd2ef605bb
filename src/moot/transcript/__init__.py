"""Export of a discussion to Markdown, JSON or one self-contained HTML page."""
