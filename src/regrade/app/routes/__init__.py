"""The routes of the pages and of their API."""

from regrade.app.routes import (
    discussion,
    explore,
    guide,
    home,
    images,
    panel,
    sign_in,
    team,
    work,
)

ROUTERS = (
    work.api,  # first, since it gets the most requests: routes are tried in this order
    images.router,
    sign_in.router,
    home.router,
    work.router,
    panel.router,
    discussion.router,
    guide.router,
    guide.api,
    team.router,
    explore.router,
)
