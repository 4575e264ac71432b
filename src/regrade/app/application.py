"""The FastAPI application of a workspace: routes, middleware and error handlers."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.middleware.trustedhost import TrustedHostMiddleware

from regrade.app.error_pages import add_error_pages
from regrade.app.middleware import BodySizeLimit, SecurityHeaders
from regrade.app.pages import HERE
from regrade.app.routes import ROUTERS
from regrade.app.site import Site
from regrade.workspace import Workspace

_LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]", "testserver"]


def create_app(workspace: Workspace, *, local: bool) -> FastAPI:
    """Create the app of a workspace; a ``local`` app serves this machine only, and its owner signs in by a link."""
    site = Site(workspace, local=local)
    app = FastAPI(title="regrade", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
    app.state.site = site
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    if local:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=_LOCAL_NAMES)
    app.add_middleware(BodySizeLimit)
    add_error_pages(app)
    app.add_middleware(SecurityHeaders)
    return app
