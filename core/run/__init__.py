"""One forward pass of a model, recorded and edited at named sites (`run.py`, `sites.py`).

A model is prepared once, when it is loaded (`prepare`): its configuration names one attention function of ours
(`attend.py`), and each module that is a site becomes an instance of a subclass. Both look at a context variable.
Without a `Run` there they do nothing; with one they record what it keeps and apply its edits. So nothing is registered
for a visitor, nothing is copied, threads do not meet, and an intervention is data: a site, and what to put there.
"""

from __future__ import annotations
