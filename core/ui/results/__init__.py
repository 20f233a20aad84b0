"""The sections of the results: questions with their pictures, and every figure in one table."""
