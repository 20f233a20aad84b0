"""The decoder branch: write token by token, see every alternative, step back and choose another."""

from core.ui.branch import branch_page
from core.ui.demos.codes import CODES
from core.ui.demos.fill_mask import MASKS
from core.ui.demos.generate import GENERATE
from core.ui.demos.memory import MEMORY_DEMO
from core.ui.demos.orders import ORDERS
from core.ui.demos.pass_at_k import PASS_AT_K
from core.ui.demos.ranking import RANKING
from core.ui.demos.tensor_parallel import TENSOR_PARALLEL
from core.ui.demos.zero import ZERO

DEMOS = (CODES, ORDERS, MASKS, MEMORY_DEMO, GENERATE)
OTHER_DEMOS = {"codex": (PASS_AT_K, RANKING), "megatron-lm": (TENSOR_PARALLEL,), "turing-nlg": (ZERO,)}
PAGE = branch_page("decoder", *DEMOS, other_demos=OTHER_DEMOS)

if __name__ == "__main__":
    PAGE.run()
