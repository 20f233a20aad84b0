"""Inside a block: one layer of a live model as its tensors in order, and what each layer would already answer."""
