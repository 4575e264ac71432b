"""The routes of the pages and of their API."""

from regrade.app.routes import (
    added_classes,
    builds,
    discussion,
    explore,
    guide,
    home,
    images,
    pair,
    panel,
    proposals,
    propose,
    review,
    select,
    sign_in,
    team,
    work,
)

ROUTERS = (
    work.api,  # first, since it gets the most requests: routes are tried in this order
    select.api,
    added_classes.router,
    images.router,
    sign_in.router,
    home.router,
    work.router,
    review.router,
    review.api,
    pair.router,
    select.router,
    panel.router,
    discussion.router,
    guide.router,
    guide.api,
    proposals.router,
    proposals.api,
    propose.router,
    team.router,
    builds.router,
    explore.router,
)
