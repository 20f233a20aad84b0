"""The sections of the page Attention."""
