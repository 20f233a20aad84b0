"""The catalogue: systems over time, compared and sized; published results; live models; calculators."""

from core.ui.catalogue.memory import MEMORY
from core.ui.catalogue.models import MODELS
from core.ui.catalogue.parameters import PARAMETERS
from core.ui.catalogue.questions import QUESTIONS
from core.ui.catalogue.scaling import SCALING
from core.ui.catalogue.share import SHARE
from core.ui.catalogue.sizes import SIZES
from core.ui.catalogue.table import TABLE
from core.ui.catalogue.timeline import TIMELINE
from core.ui.catalogue.trees import TREES
from core.ui.catalogue.two_models import SIDE
from core.ui.section import grouped

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
