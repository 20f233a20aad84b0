"""One head of a live model, and the controls of the text that it reads."""
