"""The sections of Published results: questions with their charts, and every figure in one table."""
