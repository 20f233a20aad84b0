"""The zoo: every live model in one table, two of them on one sentence, and how all of them learned."""

from core.ui.links import close_page, link_row
from core.ui.page import sentences
from core.ui.zoo.compare import side_by_side
from core.ui.zoo.curves import curves_picture
from core.ui.zoo.frame import no_models, zoo_frame
from core.ui.zoo.table import measure_models, models_table

view = zoo_frame()
places = None

if not view.models:
    no_models()
elif view.section == "models":
    places = models_table(view)
elif view.section == "compare":
    with sentences():
        side_by_side(view)
else:
    curves_picture(view)

link_row(view.state)
close_page(view.state)
if places is not None:  # last, since it takes long: everything else stands already
    measure_models(view, places)
