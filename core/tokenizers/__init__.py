"""Tokenisers: the ones of the live models side by side, how each kind works step by step, and how one is learnt.

``known.known()`` lists the different tokenisers of this installation, ``cut.cut(one, text)`` cuts a text with one of
them. ``bpe``, ``wordpiece`` and ``unigram`` do the same for one word, step by step, in pure Python; tests hold them to
the `tokenizers` library, which is what cuts everywhere else. ``learn`` learns small vocabularies from a pasted text.

Neither torch, transformers nor Streamlit here.
"""
