"""One turn of one participant: build the prompt, call the model, store the answer."""
