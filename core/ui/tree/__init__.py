"""The panel of a system's module tree."""
