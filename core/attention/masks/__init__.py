"""A laboratory of attention masks: patterns by name, joined, laid over a text, changed by hand, and followed upwards.

``kinds`` names the patterns of :mod:`core.patterns`, what can be set, what each is for, and reads and writes a choice
of them as one word of a link; ``axes`` says what stands at rows and columns, ``board`` makes the matrix
and follows it through layers. numpy alone, everywhere here.
"""
