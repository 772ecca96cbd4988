"""The platforms that the suite runs over, each in every way in which it can be connected."""

from functools import partial

import msgspec

from hermes.plugins.manifest import load_capabilities
from hermes.ports.channel import Capabilities
from hermes.testing.discord.platform import DiscordStandIn
from hermes.testing.email.server import EmailStandIn
from hermes.testing.irc.server import IrcStandIn
from hermes.testing.matrix.platform import MatrixStandIn
from hermes.testing.meta.platform import MetaStandIn
from hermes.testing.qq.platform import QqStandIn
from hermes.testing.slack.platform import SlackStandIn
from hermes.testing.sms.platform import SmsStandIn
from hermes.testing.telegram.platform import TelegramStandIn
from hermes.testing.webhook.machine import MachineStandIn
from tests.contract.channels.house import Case

_discord = partial(load_capabilities, "hermes.channels.discord")
_email = partial(load_capabilities, "hermes.channels.email")
_irc = partial(load_capabilities, "hermes.contrib.irc")
_matrix = partial(load_capabilities, "hermes.channels.matrix")
_sms = partial(load_capabilities, "hermes.channels.sms")
_qq = partial(load_capabilities, "hermes.channels.qq")
_slack = partial(load_capabilities, "hermes.channels.slack")
_webhook = partial(load_capabilities, "hermes.channels.webhook")
_meta = {
    name: partial(load_capabilities, "hermes.channels.meta", f"{name}.toml")
    for name in ("whatsapp", "instagram", "messenger")
}
_telegram = partial(load_capabilities, "hermes.channels.telegram")

# A server on loopback answers a line at once, or never.
_IRC = {"answer_s": 1.5}


def _email_kept() -> Capabilities:
    """Where Hermes files what the server took, what is found was sent."""
    return msgspec.structs.replace(_email(), history=True, history_whole=False)


def _email_filed() -> Capabilities:
    """Where the server files what is sent, the channel can look there."""
    return msgspec.structs.replace(_email(), history=True)


CASES: tuple[Case, ...] = (
    Case("telegram-poll", "telegram", TelegramStandIn, _telegram),
    Case(
        "telegram-webhook",
        "telegram",
        partial(TelegramStandIn, mode="webhook", is_local=True),
        _telegram,
        is_webhook=True,
    ),
    Case("slack-socket", "slack", SlackStandIn, _slack),
    Case(
        "slack-http",
        "slack",
        partial(SlackStandIn, mode="http"),
        _slack,
        is_webhook=True,
    ),
    Case("discord", "discord", DiscordStandIn, _discord),
    Case("qq", "qq", QqStandIn, _qq),
    Case("qq-webhook", "qq", partial(QqStandIn, mode="webhook"), _qq, is_webhook=True),
    Case("webhook", "webhook", MachineStandIn, _webhook, is_webhook=True, is_machine=True),
    Case("whatsapp", "whatsapp", MetaStandIn, _meta["whatsapp"], is_webhook=True, proves="always"),
    Case(
        "whatsapp-360dialog",
        "whatsapp",
        partial(MetaStandIn, provider="360dialog"),
        _meta["whatsapp"],
        is_webhook=True,
        proves="always",
    ),
    Case(
        "instagram",
        "instagram",
        partial(MetaStandIn, "instagram"),
        _meta["instagram"],
        is_webhook=True,
    ),
    Case(
        "messenger",
        "messenger",
        partial(MetaStandIn, "messenger"),
        _meta["messenger"],
        is_webhook=True,
        proves="always",
    ),
    Case("sms", "sms", SmsStandIn, _sms, is_webhook=True, proves="while_up"),
    Case("matrix", "matrix", MatrixStandIn, _matrix),
    Case("email", "email", EmailStandIn, _email_kept, brings_files=True),
    Case(
        "email-filed",
        "email",
        partial(EmailStandIn, can_idle=False, files_sent=True, is_moving=True),
        _email_filed,
        brings_files=True,
    ),
    Case("irc", "irc", IrcStandIn, _irc, settings=_IRC, plugins=("hermes.contrib.irc",)),
    Case(
        "irc-plain",
        "irc",
        partial(IrcStandIn, is_plain=True),
        _irc,
        settings=_IRC,
        plugins=("hermes.contrib.irc",),
    ),
)
