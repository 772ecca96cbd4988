"""The rates in the manifests are those that the platforms publish."""

import pytest

from hermes.plugins.manifest import load_capabilities
from hermes.ports.channel_rows import RateRow

# Messages a second in all, seconds between those to one person, and to one group; 0 is no limit.
PUBLISHED = {
    "hermes.channels.telegram": (30.0, 1.0, 3.0),  # the Bot API's FAQ: 30/s, 1/s, 20 a minute
    "hermes.channels.slack": (0.0, 1.0, 1.0),  # chat.postMessage: one a second to a channel
    "hermes.channels.discord": (
        50.0,
        1.0,
        1.0,
    ),  # 50 calls/s in all, 5 messages in 5 s to a channel
    "hermes.contrib.irc": (0.5, 2.0, 2.0),  # servers' flood protection: a line in two seconds
    "hermes.channels.qq": (100.0, 0.0, 0.0),  # the page of its message call: 100 a second
    "hermes.channels.sms": (0.0, 1.0, 0.0),  # Twilio: one segment a second from a long number
    # The Cloud API: 80/s from a number; to one person 45 at once, and then one in 6 s.
    "hermes.channels.meta whatsapp.toml": (80.0, 0.0, 0.0),
}


@pytest.mark.req("A26", "W11")
@pytest.mark.parametrize("package", PUBLISHED)
def test_a_manifest_keeps_the_rates_of_its_platform(package: str) -> None:
    able = load_capabilities(*package.split())

    assert (able.per_second, able.chat_gap_s, able.group_gap_s) == PUBLISHED[package]


@pytest.mark.req("A26")
def test_whatsapps_limit_for_one_person_is_a_row() -> None:
    able = load_capabilities("hermes.channels.meta", "whatsapp.toml")

    assert able.rates == (RateRow(scope="chat", most=45, within_s=270),)
