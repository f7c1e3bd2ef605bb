"""The whiteboard of a lesson: what the actions of its agents make of it, in words, as SVG and as PNG."""
