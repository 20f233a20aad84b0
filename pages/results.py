"""Results that papers printed: questions with their pictures, and pass@k."""

from core.ui.results.pass_at_k import PASS_AT_K
from core.ui.results.questions import QUESTIONS
from core.ui.section import Page

PAGE = Page("results", (QUESTIONS, PASS_AT_K))

if __name__ == "__main__":
    PAGE.run()
