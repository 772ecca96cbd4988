"""The rates in the manifests are those that the platforms publish."""

import pytest

from hermes.plugins.manifest import load_capabilities

# Messages a second in all, seconds between those to one person, and to one group; 0 is no limit.
PUBLISHED = {
    "hermes.channels.telegram": (30.0, 1.0, 3.0),  # the Bot API's FAQ: 30/s, 1/s, 20 a minute
    "hermes.channels.slack": (0.0, 1.0, 1.0),  # chat.postMessage: one a second to a channel
    "hermes.contrib.irc": (0.5, 2.0, 2.0),  # servers' flood protection: a line in two seconds
}


@pytest.mark.req("A26", "W11")
@pytest.mark.parametrize("package", PUBLISHED)
def test_a_manifest_keeps_the_rates_of_its_platform(package: str) -> None:
    able = load_capabilities(package)

    assert (able.per_second, able.chat_gap_s, able.group_gap_s) == PUBLISHED[package]
