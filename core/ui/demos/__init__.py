"""The demos of live models, one file each, and what they share."""
