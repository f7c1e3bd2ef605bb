"""The whiteboard of a lesson: replays actions to a state, renders it as text, SVG and PNG."""
