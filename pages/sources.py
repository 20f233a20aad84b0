"""Sources: where the five documents err, what they are, and every citation with how it was read."""

from core.ui.links import close_page, link_row
from core.ui.sources.citations import citations_list
from core.ui.sources.corrections import corrections_list
from core.ui.sources.documents import documents_list
from core.ui.sources.frame import sources_frame

view = sources_frame()

if view.section == "corrections":
    corrections_list(view)
elif view.section == "documents":
    documents_list(view)
else:
    citations_list(view)

link_row(view.state)
close_page(view.state)
