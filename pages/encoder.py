"""The encoder branch: what each encoder was trained to do, its heads, and the trees."""

from core.ui.branch import branch_page
from core.ui.demos.adapters import TASKS
from core.ui.demos.beside import BESIDE
from core.ui.demos.bilingual import TRANSLATION
from core.ui.demos.fill_mask import MASKS
from core.ui.demos.pairs import PAIRS
from core.ui.demos.parts import PARTS
from core.ui.demos.replaced import REPLACED
from core.ui.demos.shared_layer import PASSES

DEMOS = (TRANSLATION, MASKS, PASSES, PARTS, PAIRS, BESIDE, REPLACED, TASKS)
PAGE = branch_page("encoder", *DEMOS)

if __name__ == "__main__":
    PAGE.run()
