"""The encoder branch: what each encoder was trained to do, its heads, and the trees."""

from core.ui.branch import branch_page
from core.ui.demos.adapters import TASKS
from core.ui.demos.fill_mask import MASKS
from core.ui.demos.images import IMAGES
from core.ui.demos.pairs import PAIRS
from core.ui.demos.replaced import REPLACED
from core.ui.demos.structure import DIRECTIONS, ORDERS, SPANS
from core.ui.demos.variants import PARTS, PASSES, TRANSLATION
from core.ui.vectors.scalar_mix import MIX
from core.vectors import elmo

DEMOS = (TRANSLATION, MASKS, PASSES, PARTS, PAIRS, REPLACED, TASKS)
OTHER_DEMOS = {
    "clip": (IMAGES,),
    "elmo": (DIRECTIONS.section(elmo.spec), MIX.section(elmo.spec)),
    "spanbert": (SPANS.section(),),
    "structbert": (ORDERS.section(),),
}
PAGE = branch_page("encoder", *DEMOS, other_demos=OTHER_DEMOS)

if __name__ == "__main__":
    PAGE.run()
