"""The baseline without a network: a bag of words.

A text is the vector of its words' counts, each divided by how many texts have the word (tf-idf, Spärck Jones 1972) and
scaled to length 1; logistic regression tells the classes apart. A word that no training text has counts for nothing.
"""

from __future__ import annotations

from core.finetuning.examples import LabeledSet


def accuracy(data: LabeledSet) -> float:
    """The share of the held-out texts whose class is predicted, with the defaults of scikit-learn."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    every_word = r"(?u)\w+"
    model = make_pipeline(TfidfVectorizer(token_pattern=every_word), LogisticRegression(max_iter=1_000))
    model.fit([example.whole for example in data.train], [example.label for example in data.train])
    right = model.score([example.whole for example in data.held_out], [example.label for example in data.held_out])
    return float(right)
