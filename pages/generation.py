"""Generation: one prompt under every decoding strategy, and what processors, beams, the KV cache and drafts do."""

from core.ui.generation.beam import BEAM
from core.ui.generation.cache import CACHE
from core.ui.generation.draft import DRAFT
from core.ui.generation.setup import MODEL
from core.ui.generation.step import ONE_STEP
from core.ui.generation.strategies import STRATEGIES
from core.ui.picker import nothing_runs
from core.ui.section import Page

PAGE = Page(
    "generation",
    (STRATEGIES, ONE_STEP, BEAM, CACHE, DRAFT),
    unavailable=lambda: nothing_runs(MODEL.offered()),
)

if __name__ == "__main__":
    PAGE.run()
