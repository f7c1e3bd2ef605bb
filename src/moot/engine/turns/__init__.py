"""A turn of a participant: prompt, model call, tool loop, stored message."""
