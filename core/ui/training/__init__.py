"""The sections of the page Training."""
