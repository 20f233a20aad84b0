"""Tokenizers: those of the live models side by side, how each kind works step by step, and how one is trained.

``known.known()`` lists the different tokenizers of this installation, ``cut.cut(one, text)`` tokenizes a text with one
of them. ``bpe``, ``wordpiece`` and ``unigram`` do the same for one word, step by step, in pure Python; tests hold them
to the `tokenizers` library, which does it everywhere else. ``train`` learns small vocabularies from a pasted text.

Neither torch, transformers nor Streamlit here.
"""
