"""A platform's HTTP API over the one client: one call each, failures as delivery errors.

Nothing that is raised here names an address or a secret, or is chained to an error that may: with
some platforms the token is a part of every address. Addresses that a platform hands out are used only
on its own hosts.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from yarl import URL

from hermes.channel_kit.access_token import AccessToken
from hermes.channel_kit.multipart import UploadPart, encode_multipart
from hermes.channel_kit.refusals import (
    ApiAnswer,
    as_shape,
    failure_by,
    read_answer,
    unreadable,
)
from hermes.errors import (
    AddressRefused,
    AnswerTooLarge,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NetError,
    NotDelivered,
    TooLarge,
)
from hermes.net.client import HttpClient
from hermes.net.platform_call import MAX_ANSWER_BYTES, PlatformAnswer, call
from hermes.ports.channel_rows import ChannelRows
from hermes.ports.channel_setup import ChannelSetup

_MASK: Final = "****"
_JSON: Final = "application/json; charset=utf-8"
_FORM: Final = "application/x-www-form-urlencoded"
_NO_FILES: Final[Mapping[str, UploadPart]] = {}
_NO_HEADERS: Final[Mapping[str, str]] = {}
_NO_ROWS: Final = ChannelRows()
# A slow line carries a megabyte per second; an upload may take that long.
_UPLOAD_BYTES_PER_S: Final = 1_000_000
_DOWNLOAD_S: Final = 60.0
_MOST_HOPS: Final = 3
_REFUSAL_BYTES: Final = 16_384
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_UNAUTHORIZED: Final = 401
T = TypeVar("T")


class Api:
    """The API of one account.

    `rows` say how its answers are read; `masked` are the secrets that never appear in a text, `hosts`
    the platform's own hosts besides that of `base_url`, whose subdomains count as well. `on_refused` is
    called with each refusal before it is raised. `wire` is what failpoints call its calls, if that is not
    the platform's name.
    """

    def __init__(
        self,
        client: HttpClient,
        *,
        platform: str,
        base_url: str,
        make_id: Callable[[str], str],
        rows: ChannelRows = _NO_ROWS,
        headers: Mapping[str, str] = _NO_HEADERS,
        token: AccessToken | None = None,
        masked: Sequence[str] = (),
        hosts: Sequence[str] = (),
        on_refused: Callable[[DeliveryError], None] | None = None,
        wire: str = "",
    ) -> None:
        self._client = client
        self._platform = platform
        self._wire = wire or platform
        self._base = base_url.rstrip("/")
        self._home = URL(self._base)
        self._make_id = make_id
        self._rows = rows
        self._headers = headers
        self._token = token
        self._masked = _longest_first(masked)
        self._hosts = tuple(hosts)
        self._on_refused = on_refused

    # Any: the other parameters of the constructor.
    @classmethod
    def of(cls, setup: ChannelSetup, base_url: str, **options: Any) -> "Api":
        """Return the API of a channel at an address, by the rows of its manifest."""
        given = {"platform": setup.name, "make_id": setup.make_id, "rows": setup.rows, **options}
        return cls(setup.client, base_url=base_url, **given)

    def __repr__(self) -> str:
        return f"Api(platform={self._platform!r})"

    # Any: each call of each platform has its own answer.
    async def call(self, method: str, path: str, **options: Any) -> Any:
        """Return the answer of a successful call; raise the delivery error of any other.

        The options are those of `ask`.
        """
        said = await self.ask(method, path, **options)
        return self.success(said, path=path)

    async def get(self, path: str, shape: type[T]) -> T:
        """Return what is at a path, in its shape."""
        found = await self.call("GET", path)
        return as_shape(found, shape, platform=self._platform, method=path.partition("?")[0])

    def success(self, said: ApiAnswer, *, path: str = "") -> Any:
        """Return what a successful answer holds; raise the delivery error of any other."""
        name = self.mask(path.partition("?")[0].strip("/"))
        failure = failure_by(said, self._rows.refusal, platform=self._platform, method=name)
        if failure is not None:
            if self._on_refused is not None:
                self._on_refused(failure)
            raise failure
        if said.ok and said.found is None:
            raise unreadable(self._platform, said, method=name)
        return said.found

    async def ask(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        form: Mapping[str, Any] | None = None,
        files: Mapping[str, UploadPart] = _NO_FILES,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        timeout_s: float | None = None,
        limit: int = MAX_ANSWER_BYTES,
    ) -> ApiAnswer:
        """Make a call and return its answer, also a refusal; raise if there is none.

        The body is `json`, or `form` as urlencoded fields, or `form` and `files` as an upload. `path`
        follows the base address, or is a whole address on one of the platform's own hosts.
        """
        body, kind = self._body(json, form, files)
        answer = await self.raw(
            method,
            path,
            body=body,
            mime=kind,
            query=query,
            headers=headers,
            timeout_s=timeout_s,
            limit=limit,
        )
        return self.read(answer)

    async def raw(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        mime: str = "",
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        timeout_s: float | None = None,
        limit: int = MAX_ANSWER_BYTES,
    ) -> PlatformAnswer:
        """Make a call and return its answer as it came, for answers that are large or no JSON."""
        sent = {**self._headers, **({"Content-Type": mime} if mime else {}), **headers}
        url = self._address(path) + (f"?{urlencode(query)}" if query else "")
        return await self._sent(
            method, url, headers=sent, body=body, timeout_s=timeout_s, limit=limit
        )

    def read(self, answer: PlatformAnswer) -> ApiAnswer:
        """Return what an answer says, by the rows."""
        return read_answer(answer, self._rows.answer, mask=self.mask)

    async def upload(
        self,
        url: str,
        data: bytes,
        *,
        method: str = "POST",
        mime: str = "application/octet-stream",
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> PlatformAnswer:
        """Send bytes to an address that the platform named; neither token nor headers go with them."""
        answer = await self._once(
            method,
            self.own_address(url),
            headers={"Content-Type": mime, **headers},
            body=data,
            timeout_s=None,
            limit=MAX_ANSWER_BYTES,
        )
        self._raise_refusal(answer, "upload")
        return answer

    async def download(
        self,
        path: str,
        *,
        limit: int,
        headers: Mapping[str, str] = _NO_HEADERS,
        timeout_s: float = _DOWNLOAD_S,
        most_hops: int = _MOST_HOPS,
    ) -> PlatformAnswer:
        """Return a file of the platform; raise `TooLarge` above `limit`, otherwise a delivery error.

        Redirects are followed on the platform's own hosts; the token goes to the first address only.
        With `most_hops` 0 a redirect is a refusal, such as one to a page where people sign in.
        """
        url = self._address(path)
        sent = {**self._headers, **(await self._token_headers()), **headers}
        for hop in range(most_hops + 1):
            answer = await self._fetched(url, headers=sent, limit=limit, timeout_s=timeout_s)
            if answer.status not in _REDIRECTS:
                self._raise_refusal(answer, "download")
                return answer
            if hop < most_hops:
                url, sent = self._next_hop(url, answer), {}
        raise DeliveryRejected(
            f"{self._platform}: a file could not be read: it is redirected more than {most_hops} times",
            FailureClass.REJECTED,
        )

    def own_address(self, url: str) -> str:
        """Return an address that the platform named; raise `AddressRefused` for other hosts."""
        try:
            found = URL(url)
            port = found.port
        except ValueError:
            found, port = URL(), None
        is_home = found.raw_host == self._home.raw_host and port == self._home.port
        is_plain = self._home.scheme == "http" and found.scheme in {"http", "ws"}
        if found.scheme not in {"https", "wss"} and not (is_plain and is_home):
            raise AddressRefused(
                f"{self._platform}: an address that is not encrypted is not used; nothing was sent"
            )
        host = found.raw_host or ""
        if found.user is not None or found.password is not None:
            raise AddressRefused(f"{self._platform}: an address with a user's name is not used")
        if is_home or any(host == own or host.endswith(f".{own}") for own in self._hosts):
            return url
        raise AddressRefused(
            f"{self._platform}: {self.mask(host)[:80]!r} is no host of this platform; nothing was sent "
            "there"
        )

    def mask(self, text: str) -> str:
        """Return a text without the secrets that it holds."""
        for secret in self._masked:
            text = text.replace(secret, _MASK)
        return text

    def _address(self, path: str) -> str:
        if path.startswith(("https://", "http://")):
            return self.own_address(path)
        return f"{self._base}/{path.lstrip('/')}"

    def _body(
        self, json: object, form: Mapping[str, Any] | None, files: Mapping[str, UploadPart]
    ) -> tuple[bytes | None, str]:
        if files:
            boundary = self._make_id("part")
            body = encode_multipart(form or {}, files, boundary=boundary)
            return body, f"multipart/form-data; boundary={boundary}"
        if form is not None:
            return urlencode({name: _field(value) for name, value in form.items()}).encode(), _FORM
        return (None, "") if json is None else (msgspec.json.encode(json), _JSON)

    async def _sent(
        self, method: str, url: str, *, headers: Mapping[str, str], **options: Any
    ) -> PlatformAnswer:
        """Make a call with a token; once more if the platform does not accept the token any more."""
        proof = await self._token_headers()
        answer = await self._once(method, url, headers={**headers, **proof}, **options)
        if self._token is None or answer.status != _UNAUTHORIZED:
            return answer
        self._token.forget(proof)
        proof = await self._token_headers()
        return await self._once(method, url, headers={**headers, **proof}, **options)

    async def _token_headers(self) -> Mapping[str, str]:
        return _NO_HEADERS if self._token is None else await self._token.headers()

    async def _once(
        self, method: str, url: str, *, body: bytes | None, timeout_s: float | None, **options: Any
    ) -> PlatformAnswer:
        # Any: the options of `platform_call.call`, which checks them.
        if timeout_s is None and body is not None:
            timeout_s = self._client.settings.timeout_s + len(body) / _UPLOAD_BYTES_PER_S
        failure: DeliveryError
        try:
            return await call(
                self._client,
                method,
                url,
                platform=self._wire,
                body=body,
                timeout_s=timeout_s,
                **options,
            )
        except NotDelivered as error:
            failure = NotDelivered(self.mask(str(error)), error.failure)
        except DeliveryUnknown as error:
            failure = DeliveryUnknown(self.mask(str(error)), error.failure)
        # Outside of the handlers: what is raised must not lead back to the address.
        raise failure

    async def _fetched(
        self, url: str, *, headers: Mapping[str, str], limit: int, timeout_s: float
    ) -> PlatformAnswer:
        failure: NotDelivered | TooLarge
        try:
            async with self._client.request(
                self._wire, "GET", url, headers=headers, timeout_s=timeout_s, trusted=True
            ) as response:
                ok = 200 <= response.status < 300
                body = await response.read(limit) if ok else await _start(response.chunks())
                return PlatformAnswer(
                    status=response.status, body=body, headers=dict(response.headers)
                )
        except AnswerTooLarge:
            failure = TooLarge(f"{self._platform}: a file has more than {limit} bytes")
        except NetError as error:
            failure = NotDelivered(self.mask(str(error)), FailureClass.SERVICE_UNAVAILABLE)
        raise failure

    def _next_hop(self, url: str, answer: PlatformAnswer) -> str:
        place = {name.lower(): value for name, value in answer.headers.items()}.get("location", "")
        try:
            return self.own_address(str(URL(url).join(URL(place))))
        except ValueError:
            raise AddressRefused(f"{self._platform}: a redirect leads nowhere") from None

    def _raise_refusal(self, answer: PlatformAnswer, what: str) -> None:
        if not answer.is_ok:
            self.success(self.read(answer), path=what)


async def _start(chunks: AsyncIterator[bytes]) -> bytes:
    """Return the first part of a refusal; the rest of it does not matter."""
    found = b""
    async for piece in chunks:
        found += piece
        if len(found) >= _REFUSAL_BYTES:
            break
    return found[:_REFUSAL_BYTES]


def _longest_first(secrets: Sequence[str]) -> tuple[str, ...]:
    """Return the secrets and how they are written in an address; none that is a part of another first."""
    forms = {form for secret in secrets if secret for form in (secret, quote(secret, safe=""))}
    return tuple(sorted(forms, key=len, reverse=True))


def _field(value: Any) -> str:
    """Return an argument in form encoding."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
