"""The settings of one account at Meta, or of a WhatsApp number at 360dialog: how its API is reached."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hermes.ports.channel_rows import ProofRow, WebhookRow
from hermes.ports.channel_setup import ChannelSetup

# 360dialog passes Meta's calls on without Meta's signature, with headers that its customer sets.
_DIALOG_PROOF: Final = ProofRow(
    kind="shared", at="header:authorization", prefix="Bearer ", secret="webhook_secret"
)
_DIALOG: Final = "360dialog"


class MetaAccount(msgspec.Struct, frozen=True, kw_only=True):
    """One account: its addresses, its credential and how its webhook is proven.

    `messages` is where messages are posted, `files` where attachments are uploaded, `media` is before the
    id of an attachment, `check` what is read to see whether the credential is valid. `own_id` is the
    number's id; a page says its own. `downloads_here` says that files come from the API's own host.
    """

    platform: str
    base_url: str
    webhook: WebhookRow
    headers: Mapping[str, str] = {}
    credential: str = ""
    messages: str = ""
    files: str = ""
    media: str = ""
    check: str = ""
    own_id: str = ""
    downloads_here: bool = False
    template: str = ""
    template_language: str = ""
    preview_links: bool = False

    def __repr__(self) -> str:
        return f"MetaAccount(platform={self.platform!r}, base_url={self.base_url!r})"


def read_account(setup: ChannelSetup) -> MetaAccount:
    """Return the account of a set-up, whose settings were checked against its manifest."""
    given = setup.settings
    is_dialog = given.get("provider") == _DIALOG
    account = MetaAccount(
        platform=setup.platform,
        base_url=str(given["dialog_url" if is_dialog else "base_url"]),
        webhook=setup.rows.webhook or WebhookRow(),
        template=given.get("template") or "",
        template_language=given.get("template_language") or "",
        preview_links=bool(given.get("preview_links")),
    )
    return _at_360dialog(account, given) if is_dialog else _at_meta(account, given)


# Any: the settings of the manifest.
def _at_meta(account: MetaAccount, given: Mapping[str, Any]) -> MetaAccount:
    number, version = str(given.get("phone_number_id") or ""), given["api_version"]
    place = f"{version}/{number or 'me'}"
    fields = "id,display_phone_number" if number else "id,instagram_business_account"
    return msgspec.structs.replace(
        account,
        headers={"Authorization": f"Bearer {given['access_token']}"},
        credential="access_token",
        messages=f"{place}/messages",
        files=f"{place}/{'media' if number else 'message_attachments'}",
        media=f"{version}/",
        check=f"{place}?fields={fields}",
        own_id=number,
    )


def _at_360dialog(account: MetaAccount, given: Mapping[str, Any]) -> MetaAccount:
    row = msgspec.structs.replace(account.webhook, proof=_DIALOG_PROOF, handshake="none")
    return msgspec.structs.replace(
        account,
        headers={"D360-API-KEY": given["api_key"]},
        credential="api_key",
        webhook=row,
        messages="messages",
        files="media",
        check="v1/configs/webhook",
        downloads_here=True,
    )


def masked_of(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the secrets that no text may show."""
    names = ("access_token", "app_secret", "api_key", "webhook_secret", "verify_token")
    return tuple(str(settings[name]) for name in names if settings.get(name))
