"""Graph: repositories, tasks, who holds which files."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.people.graph_page import graph_page
from damascus.web.looking import Looking
from damascus.web.plots import drawing
from damascus.web.render import render

router = APIRouter(include_in_schema=False)


@router.get("/graph")
def graph(look: Looking) -> HTMLResponse:
    page = graph_page(look.app, look.project)
    names = {one.id: (one.name, one.state or "not asked") for one in page.repositories}
    return render("graph.html", look, page=page, picture=drawing(names, page.edges), named=dict(names))
