"""Tokenizers: those of the live models side by side, how each kind works step by step, and how one is trained.

``known.known()`` lists the different tokenizers of this installation; ``cut.cut(info, text)`` tokenizes a text with one
of them. ``bpe``, ``wordpiece`` and ``unigram`` tokenize one word step by step in pure Python; tests compare them with
the `tokenizers` library, which the rest of the app uses. ``train`` learns small vocabularies from a pasted text.

Needs neither torch, transformers nor Streamlit.
"""
