"""Pretraining objectives: one a file, pure functions of tokens and a random generator.

``objectives.NAME.corrupt(...)`` returns an :class:`~core.objectives.example.Example`: the input, the targets, and the
attention masks. Nothing here imports torch or Streamlit.
"""
