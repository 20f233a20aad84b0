"""The sections of the zoo."""
