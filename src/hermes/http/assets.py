"""The files of our own web pages, read once from a package and served from memory.

The chat page and the dashboard use it. Nothing is loaded from elsewhere, and the policy below
enforces that: no text on a page can make the browser run or fetch anything.
"""

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec

from hermes.ports.channel import HttpResponse

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
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
    "webmanifest": "application/manifest+json",
}


class Asset(msgspec.Struct, frozen=True):
    """One file, the tag that says whether a browser's copy is current, and its compressed bytes."""

    body: bytes
    content_type: str
    tag: str
    packed: bytes


def read_assets(package: str) -> dict[str, Asset]:
    """Return the files in the folder `static` of a package, and those that all pages share.

    The name of a file in a folder of its own has the folder in it: `pages/people.js`.
    """
    found = {}
    for owner in (__package__, package):
        for name, file in _files(resources.files(owner) / "static"):
            kind = _TYPES.get(name.rpartition(".")[2])
            if kind is not None:
                body = file.read_bytes()
                tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
                # Without a time in it, every start packs the same bytes.
                found[name] = Asset(body, kind, tag, gzip.compress(body, mtime=0))
    return found


def _files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _files(one, f"{prefix}{one.name}/")
        else:
            yield f"{prefix}{one.name}", one


def page_response(asset: Asset, status: int = 200) -> HttpResponse:
    """Return a page; browsers must not cache pages, since they depend on the session."""
    return HttpResponse(
        status=status, body=asset.body, content_type=asset.content_type, headers=_PAGE_HEADERS
    )


def file_response(asset: Asset, request: Mapping[str, str]) -> HttpResponse:
    """Return a file of the page, or 304 if the browser already has it.

    `request` are the headers of the request. Nothing in these files is secret, so they may be packed.
    """
    headers = {
        **_PAGE_HEADERS,
        "cache-control": "no-cache",
        "etag": asset.tag,
        "vary": "accept-encoding",
    }
    if request.get("if-none-match") == asset.tag:
        return HttpResponse(status=304, content_type=asset.content_type, headers=headers)
    body = asset.body
    if _takes_gzip(request.get("accept-encoding", "")):
        body, headers["content-encoding"] = asset.packed, "gzip"
    return HttpResponse(body=body, content_type=asset.content_type, headers=headers)


def _takes_gzip(accepted: str) -> bool:
    """Return whether a browser takes gzip; one that gives it a weight of its own gets it plain."""
    return any(one.strip().lower() == "gzip" for one in accepted.split(","))
