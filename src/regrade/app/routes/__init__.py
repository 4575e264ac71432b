"""The routes of the pages and of their API, one module per page."""

from regrade.app.routes import (
    classes,
    discussion,
    explore,
    explore_class,
    explore_image,
    explore_images,
    guide,
    guide_api,
    home,
    images,
    judge,
    label,
    mistake,
    panel,
    sign_in,
    team,
    votes,
)

ROUTERS = (
    votes.router,  # first, since it gets the most requests: routes are tried in this order
    images.router,
    sign_in.router,
    home.router,
    judge.router,
    mistake.router,
    panel.router,
    discussion.router,
    label.router,
    guide.router,
    guide_api.router,
    team.router,
    classes.router,
    explore.router,
    explore_images.router,
    explore_image.router,
    explore_class.router,
)
