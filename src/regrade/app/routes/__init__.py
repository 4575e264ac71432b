"""The routes of the pages and of their API."""

from regrade.app.routes import (
    class_api,
    discussion,
    explore,
    guide,
    home,
    images,
    panel,
    sign_in,
    team,
    votes,
    work,
)

ROUTERS = (
    votes.router,  # first, since it gets the most requests: routes are tried in this order
    images.router,
    sign_in.router,
    home.router,
    work.router,
    panel.router,
    discussion.router,
    guide.router,
    class_api.router,
    team.router,
    explore.router,
)
