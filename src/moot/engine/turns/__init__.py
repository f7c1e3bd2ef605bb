"""One turn of one participant: its prompt, the model call, the stored answer."""
