"""About: licences and attribution of every text and weight used, versions, how to add models, how to cite."""

from core.catalogue.attribution import attribution
from core.ui.about import add_models, citing, licence, versions, works
from core.ui.links import close_page, open_page
from core.ui.page import header

header(
    "About",
    "Whose texts, weights and programs this atlas stands on, what is installed here, and how to cite it.",
)
state = open_page("about")

used = attribution()
works(
    "Texts",
    "The models that were trained here learned from these texts. The texts themselves are not part of the atlas, but "
    "for a few public-domain sentences that the models are measured on.",
    used.texts,
)
works("Weights", "What is run when a page runs a model.", used.weights)
works("Scripts kept here", "They come with the atlas, so that it works without a network.", used.scripts)
versions()
add_models()
citing()
licence()
close_page(state)
