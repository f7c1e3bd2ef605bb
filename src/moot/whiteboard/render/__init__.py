"""Rendering of a whiteboard to SVG and PNG."""
