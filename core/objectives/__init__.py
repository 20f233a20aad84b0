"""What models are asked while they learn: one objective a file, pure functions of tokens and a random generator.

``objectives.NAME.corrupt(...)`` gives an :class:`~core.objectives.example.Example`: what the model reads, what
it is asked, where a loss is taken, and who may look at whom. Nothing here imports torch or Streamlit.
"""
