"""The sections of the page of the efficient branch that no other branch has."""
