"""The page's own files, read once from the package and served from memory.

Nothing is loaded from elsewhere, and the policy below enforces that: a reply can never make the
browser run or fetch anything.
"""

import hashlib
from importlib import resources

import msgspec

from hermes.ports.channel import HttpResponse

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
_PAGE_HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class Asset(msgspec.Struct, frozen=True):
    """One file and the tag that says whether a browser's copy is current."""

    body: bytes
    content_type: str
    tag: str


def read_assets() -> dict[str, Asset]:
    """Return every file of the page by its name."""
    folder = resources.files(__package__) / "static"
    found = {}
    for file in folder.iterdir():
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            body = file.read_bytes()
            found[file.name] = Asset(body, kind, f'"{hashlib.sha256(body).hexdigest()[:20]}"')
    return found


def page_response(asset: Asset, status: int = 200) -> HttpResponse:
    """Return a page; browsers must not cache pages, since they depend on the session."""
    return HttpResponse(
        status=status, body=asset.body, content_type=asset.content_type, headers=_PAGE_HEADERS
    )


def file_response(asset: Asset, *, known_tag: str | None) -> HttpResponse:
    """Return a file of the page, or 304 if the browser already has it."""
    headers = {**_PAGE_HEADERS, "cache-control": "no-cache", "etag": asset.tag}
    if known_tag == asset.tag:
        return HttpResponse(status=304, content_type=asset.content_type, headers=headers)
    return HttpResponse(body=asset.body, content_type=asset.content_type, headers=headers)
