"""The whiteboard of a lesson: state from actions, as text, SVG and PNG."""
