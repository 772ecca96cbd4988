"""The files of a conversation's working folder over HTTP: list, upload, download, delete.

The caller names the sender and the conversation as in a message, and reaches only the folder that
this sender's messages work in.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from starlette.routing import Route

from hermes.channels.rest.inbound import check_sender, source_of
from hermes.errors import BadRequest, NotFound
from hermes.http.json_body import json_response
from hermes.http.route import Answer, Endpoint, HttpExchange, refuse_url_credentials
from hermes.http.same_origin import Origins
from hermes.message.source import Source
from hermes.ports.channel import HttpResponse
from hermes.ports.gateway_api import ApiEndpoint, Caller, GatewayApi
from hermes.ports.work_files import SessionOwner, WorkFile, WorkFiles

_LONGEST: Final = 200
_FIELDS: Final = frozenset({"sender", "conversation", "agent", "shared"})
_QUERY: Final[Mapping[str, str]] = {
    "sender": "whose files, as in a message; required",
    "conversation": "the conversation; default: the sender's own",
    "agent": "the agent, if the conversation is with another than the rules choose",
    "shared": "`true` for a shared conversation",
}
_BYTES: Final = "application/octet-stream"


class SessionFileList(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a working folder, by their paths."""

    files: tuple[WorkFile, ...]


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was uploaded, and its size in bytes."""

    path: str
    size: int


class FilesApi:
    """The routes under `/api/files`."""

    def __init__(
        self,
        gateway_api: GatewayApi,
        files: WorkFiles | None,
        *,
        origins: Origins,
        timeout_s: float,
    ) -> None:
        self._gateway_api = gateway_api
        self._kept = files
        self._origins = origins
        self._timeout_s = timeout_s

    def routes(self) -> Sequence[Route]:
        """Return the routes to mount."""
        one = {"GET": self.get, "PUT": self.put, "DELETE": self.delete}
        return (
            Route("/api/files", Endpoint({"GET": self.list})),
            Route("/api/files/{path:path}", Endpoint(one)),
        )

    async def list(self, exchange: HttpExchange) -> Answer:
        """Return the files of a session."""
        owner = await self._owner(exchange)
        return json_response(SessionFileList(files=await self._files.listed(owner)))

    async def get(self, exchange: HttpExchange) -> Answer:
        """Return a file's bytes; browsers save them and never show them."""
        owner = await self._owner(exchange)
        data = await self._files.get(owner, exchange.parameter("path"))
        headers = {
            "content-disposition": "attachment",
            "content-security-policy": "default-src 'none'; sandbox",
        }
        return HttpResponse(body=data, content_type=_BYTES, headers=headers)

    async def put(self, exchange: HttpExchange) -> Answer:
        """Write a file."""
        owner = await self._owner(exchange)
        path = exchange.parameter("path")
        data = await exchange.body(limit=self._files.most_bytes, timeout_s=self._timeout_s)
        is_new = await self._files.put(owner, path, data)
        stored = StoredFile(path=path, size=len(data))
        return json_response(stored, 201) if is_new else json_response(stored)

    async def delete(self, exchange: HttpExchange) -> Answer:
        """Delete a file."""
        owner = await self._owner(exchange)
        await self._files.remove(owner, exchange.parameter("path"))
        return HttpResponse(status=204)

    @property
    def _files(self) -> WorkFiles:
        if self._kept is None:
            raise NotFound(
                "This gateway keeps no files of conversations: set terminal.files or terminal.enabled"
                " to true."
            )
        return self._kept

    async def _owner(self, exchange: HttpExchange) -> SessionOwner:
        """Authenticate the caller, and return whose files the query means."""
        refuse_url_credentials(exchange)
        caller = await self._gateway_api.authenticate(exchange.headers)
        self._origins.check(caller, exchange.headers)
        query = exchange.query()
        source = read_source(query, caller)
        return await self._gateway_api.session_owner(source, agent=query.get("agent") or None)


def read_source(query: Mapping[str, str], caller: Caller) -> Source:
    """Return the source that a message with these fields would have; raises `BadRequest`."""
    unknown = sorted(query.keys() - _FIELDS)
    if unknown:
        raise BadRequest(f"The query has {unknown[0][:80]!r}: use {', '.join(sorted(_FIELDS))}.")
    long = [name for name, value in query.items() if len(value) > _LONGEST]
    if long:
        raise BadRequest(f"The query's {long[0]!r} is longer than {_LONGEST} characters.")
    if query.get("shared", "false") not in ("true", "false"):
        raise BadRequest("The query's 'shared' is neither true nor false.")
    sender = query.get("sender", "")
    if not sender:
        raise BadRequest("The query names no 'sender': write ?sender=NAME as in a message.")
    check_sender(sender, caller)
    is_shared = query.get("shared") == "true"
    return source_of(sender, query.get("conversation") or None, shared=is_shared)


def file_endpoints() -> Sequence[ApiEndpoint]:
    """Return the endpoints, for OpenAPI."""
    path = "/api/files/{path:path}"
    return (
        ApiEndpoint(
            name="files.list",
            method="GET",
            path="/api/files",
            group="Files",
            summary="List the files in the working folder of a conversation.",
            report=SessionFileList,
            query=_QUERY,
        ),
        ApiEndpoint(
            name="files.get",
            method="GET",
            path=path,
            group="Files",
            summary="Download a file.",
            report=bytes,
            query=_QUERY,
        ),
        ApiEndpoint(
            name="files.put",
            method="PUT",
            path=path,
            group="Files",
            summary="Upload a file; the body is its content.",
            request=bytes,
            report=StoredFile,
            query=_QUERY,
        ),
        ApiEndpoint(
            name="files.delete",
            method="DELETE",
            path=path,
            group="Files",
            summary="Delete a file.",
            query=_QUERY,
        ),
    )
