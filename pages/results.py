"""Results that papers printed: questions with their pictures, and every figure with its source."""

from core.ui.links import PageState
from core.ui.results.glue import GLUE, PASS_AT_K
from core.ui.results.questions import ALL, FILTERS, QUESTIONS
from core.ui.section import Page


def opens(state: PageState) -> str:
    """A link that names a system, a data set or a paper and no section means the table."""
    return "all" if any(state.values.get(choice.name) for choice in FILTERS) else "questions"


PAGE = Page("results", (QUESTIONS, ALL, GLUE, PASS_AT_K), opens=opens)

if __name__ == "__main__":
    PAGE.run()
