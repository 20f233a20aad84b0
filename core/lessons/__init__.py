"""Lessons: content files of steps, each with a text, a link to a view, and a question that a model answers."""
