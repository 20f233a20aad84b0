"""Lessons: paths of live views through the Atlas, each step with its text and a question that the model answers."""

from core.ui.lessons.lessons import LESSONS
from core.ui.section import Page

PAGE = Page("lessons", (LESSONS,))

if __name__ == "__main__":
    PAGE.run()
