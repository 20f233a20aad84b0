"""Interventions: a part of a live model changed, and what its prediction becomes."""

from core.ui.interventions.ablation import ABLATION
from core.ui.interventions.attack import ATTACK
from core.ui.interventions.attribution import ATTRIBUTION
from core.ui.interventions.breaking import BREAKING
from core.ui.interventions.features import FEATURES
from core.ui.interventions.induction import INDUCTION
from core.ui.interventions.lens import LENS
from core.ui.interventions.patching import PATCHING
from core.ui.interventions.probes import PROBES
from core.ui.interventions.setup import MODEL
from core.ui.interventions.sinks import SINKS
from core.ui.interventions.steering import STEERING
from core.ui.picker import nothing_runs
from core.ui.section import Page

PAGE = Page(
    "interventions",
    (PATCHING, ATTRIBUTION, ABLATION, BREAKING, LENS, SINKS, STEERING, PROBES, FEATURES, INDUCTION, ATTACK),
    params=(MODEL,),
    unavailable=lambda: nothing_runs(MODEL.offered()),
)

if __name__ == "__main__":
    PAGE.run()
