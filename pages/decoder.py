"""The decoder branch: write token by token, see every alternative, step back and choose another."""

from core.ui.branch import branch_page
from core.ui.demos.codes import CODES
from core.ui.demos.fill_mask import MASKS
from core.ui.demos.generate import GENERATE
from core.ui.demos.memory import MEMORY_DEMO
from core.ui.demos.orders import ORDERS

DEMOS = (CODES, ORDERS, MASKS, MEMORY_DEMO, GENERATE)
PAGE = branch_page("decoder", *DEMOS)

if __name__ == "__main__":
    PAGE.run()
