"""Attention: which tokens attend to which, in every live model."""

from core.ui.attention.bertviz import BERTVIZ
from core.ui.attention.block import BLOCK
from core.ui.attention.maps import ALL, ONE_HEAD
from core.ui.attention.roles import ROLES
from core.ui.attention.setup import MODEL
from core.ui.picker import nothing_runs
from core.ui.section import Page

PAGE = Page(
    "attention",
    (ONE_HEAD, ALL, BERTVIZ, BLOCK, ROLES),
    params=(MODEL,),
    unavailable=lambda: nothing_runs(MODEL.offered()),
)

if __name__ == "__main__":
    PAGE.run()
