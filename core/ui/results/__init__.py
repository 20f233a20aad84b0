"""The section Results of the page Catalogue: questions with their charts, and every figure in one table."""
