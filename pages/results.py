"""Results that papers printed: questions with their pictures, GLUE's tasks, and pass@k."""

from core.ui.results.glue import GLUE, PASS_AT_K
from core.ui.results.questions import QUESTIONS
from core.ui.section import Page

PAGE = Page("results", (QUESTIONS, GLUE, PASS_AT_K))

if __name__ == "__main__":
    PAGE.run()
