"""The catalogue: systems over time, compared and sized; published results; live models; calculators."""

from core.ui.calculators.memory import MEMORY
from core.ui.calculators.parameters import PARAMETERS
from core.ui.calculators.scaling import SCALING
from core.ui.compare.sizes import SIZES
from core.ui.compare.table import TABLE
from core.ui.compare.trees import TREES
from core.ui.results.questions import QUESTIONS
from core.ui.section import grouped
from core.ui.timeline import TIMELINE
from core.ui.tokenizers.share import SHARE
from core.ui.zoo.models import MODELS
from core.ui.zoo.side_by_side import SIDE

PAGE = grouped(
    "catalogue",
    {
        "timeline": (TIMELINE,),
        "compare": (TABLE, TREES, SIDE),
        "sizes": (SIZES, SHARE),
        "results": (QUESTIONS,),
        "models": (MODELS,),
        "calculators": (PARAMETERS, MEMORY, SCALING),
    },
)

if __name__ == "__main__":
    PAGE.run()
