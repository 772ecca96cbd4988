"""`/api/openapi.json` and `/api/docs`: the description of the API, for anyone with a credential.

It holds no secrets and changes nothing, so every role may read it. The page's browser code comes
from a package (`requirements/api-docs.txt`); without the package a plain list is shown. Nothing of
it is imported, built or read before the first request.
"""

import asyncio
from collections.abc import Sequence
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route

from hermes.errors import NotFound, Unauthenticated
from hermes.http.json_body import json_response
from hermes.http.route import Answer, Endpoint, HttpExchange, refuse_url_credentials
from hermes.lazy import lazy
from hermes.ports.channel import HttpResponse
from hermes.ports.gateway_api import DescribedChannel, GatewayApi, RouteChannel

if TYPE_CHECKING:
    from hermes.server.openapi import openapi_document, plain_page
else:
    openapi_document = lazy("hermes.server.openapi:openapi_document")
    plain_page = lazy("hermes.server.openapi:plain_page")

_PACKAGE = "flask_swagger_ui"
_OWN: Final = frozenset({"api-docs.js"})
_CARRIED: Final = frozenset({"swagger-ui-bundle.js", "swagger-ui.css"})
_TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_HTML = "text/html; charset=utf-8"
_SIGN_IN: Final = b"""\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Hermes: sign in first</title>
<h1>Sign in first</h1>
<p>This page is for people who are signed in. Run <code>hermes link</code>, open the link that it prints,
and come back.</p></html>
"""
# Swagger UI sets its own styles and shows small pictures from data URLs.
_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
    "referrer-policy": "no-referrer",
}


# Any: the JSON of the document.
def api_docs_routes(gateway_api: GatewayApi, channels: Sequence[RouteChannel]) -> tuple[Route, ...]:
    """Return the routes; each needs a token or a browser session."""

    @cache
    def document() -> Any:
        described = [one for one in channels if isinstance(one, DescribedChannel)]
        endpoints = [endpoint for one in described for endpoint in one.endpoints()]
        return openapi_document(endpoints)

    async def enter(exchange: HttpExchange) -> None:
        # No origin check: a page only reads, and the browser sends the cookie only to our own
        # pages.
        refuse_url_credentials(exchange)
        await gateway_api.recognise(exchange.headers)

    async def describe(exchange: HttpExchange) -> Answer:
        await enter(exchange)
        return json_response(await asyncio.to_thread(document))

    async def page(exchange: HttpExchange) -> Answer:
        try:
            await enter(exchange)
        except Unauthenticated:
            if "text/html" not in exchange.headers.get("accept", ""):
                raise
            return HttpResponse(status=401, body=_SIGN_IN, content_type=_HTML, headers=_HEADERS)
        if browser_code() is None:
            body = plain_page(await asyncio.to_thread(document))
        else:
            body = await asyncio.to_thread(_own_file, "api-docs.html")
        return HttpResponse(body=body, content_type=_HTML, headers=_HEADERS)

    async def file(exchange: HttpExchange) -> Answer:
        await enter(exchange)
        name = exchange.parameter("name")
        body = await asyncio.to_thread(_file, name)
        kind = _TYPES[name.rpartition(".")[2]]
        headers = {**_HEADERS, "cache-control": "private, max-age=3600"}
        return HttpResponse(body=body, content_type=kind, headers=headers)

    return (
        Route("/api/openapi.json", Endpoint({"GET": describe}, head=True)),
        Route("/api/docs", Endpoint({"GET": page}, head=True)),
        Route("/api/docs/{name}", Endpoint({"GET": file}, head=True)),
    )


def browser_code() -> Path | None:
    """Return the folder with the files of the Swagger UI package; the package is not imported."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "dist"
    return folder if all((folder / name).is_file() for name in _CARRIED) else None


def _file(name: str) -> bytes:
    if name in _OWN:
        return _own_file(name)
    folder = browser_code()
    if name not in _CARRIED or folder is None:
        raise NotFound(f"The page has no file {name[:80]!r}.")
    return (folder / name).read_bytes()


def _own_file(name: str) -> bytes:
    return (resources.files(__package__) / "static" / name).read_bytes()
