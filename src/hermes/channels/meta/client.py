"""The Graph API of one account: messages, uploads and files, on Meta's own hosts only."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from hermes.channel_kit.api import Api
from hermes.channel_kit.multipart import UploadPart
from hermes.channel_kit.refusals import field_of, receipt_at
from hermes.channels.meta.settings import MetaAccount, masked_of
from hermes.errors import DeliveryError, DeliveryRejected, FailureClass
from hermes.ports.channel import Receipt
from hermes.ports.channel_setup import ChannelSetup

_HOSTS: Final = (
    *("fbsbx.com", "fbcdn.net", "facebook.com", "whatsapp.net"),
    *("instagram.com", "cdninstagram.com"),
)

# Any: calls and answers of the API are JSON objects, each with its own fields.
Json = dict[str, Any]


class GraphApi:
    """The calls of one account; `on_refused` is told of each refusal."""

    def __init__(
        self,
        setup: ChannelSetup,
        account: MetaAccount,
        *,
        on_refused: Callable[[DeliveryError], None],
    ) -> None:
        self._account = account
        self._api = Api.of(
            setup,
            account.base_url,
            headers=account.headers,
            masked=masked_of(setup.settings),
            hosts=_HOSTS,
            on_refused=on_refused,
        )

    async def check(self) -> Json:
        """Return what the platform says of the account."""
        return _object(await self._api.call("GET", self._account.check))

    async def post(self, body: Json) -> Json:
        """Post a message, or something about one."""
        return _object(await self._api.call("POST", self._account.messages, json=body))

    async def send(self, body: Json, *, receipt: str) -> Receipt:
        """Send a message; `receipt` is the path of its id in the answer."""
        return receipt_at(await self.post(body), receipt, platform=self._account.platform)

    async def upload(
        self, name: str, fields: Mapping[str, Any], part: UploadPart, *, answer: str
    ) -> str:
        """Upload an attachment that nobody sees yet; return its id, which `answer` names."""
        found = await self._api.call("POST", self._account.files, form=fields, files={name: part})
        file_id = field_of(found, answer)
        if not isinstance(file_id, str | int) or not file_id:
            raise DeliveryRejected(
                f"{self._account.platform}: an attachment was uploaded, and the answer names no id",
                FailureClass.REJECTED,
            )
        return str(file_id)

    async def download(self, ref: str, *, limit: int) -> bytes:
        """Return an attachment by its address, or by its id, whose address the platform names."""
        url = ref
        if not ref.startswith(("https://", "http://")):
            found = await self._api.call("GET", f"{self._account.media}{ref}")
            url = str(field_of(found, "url") or "")
        self._api.own_address(url)
        if self._account.downloads_here:
            place = urlsplit(url)
            url = f"{place.path}?{place.query}" if place.query else place.path
        return (await self._api.download(url, limit=limit)).body


def _object(found: object) -> Json:
    return found if isinstance(found, dict) else {}
