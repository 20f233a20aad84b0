"""Training of the bundled checkpoints: one corpus reader, one trainer, one file per objective."""
