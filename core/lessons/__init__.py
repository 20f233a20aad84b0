"""Lessons: content files of steps, each with a text, a link to a view, and a question that a model answers."""

FOLDER = "lessons"
MOST_STEPS = 40
MOST_VIEW = 8_000
"""Characters of a view's path and query."""
