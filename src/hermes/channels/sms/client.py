"""Twilio's REST API, and the files of an MMS, on Twilio's own hosts only."""

import base64
from collections.abc import Callable
from typing import Final

from hermes.channel_kit.api import Api
from hermes.errors import DeliveryError
from hermes.ports.channel_setup import ChannelSetup

# Files of an MMS are redirected from the API to Twilio's storage.
_HOSTS: Final = ("twilio.com", "twiliocdn.com")


def make_api(setup: ChannelSetup, *, on_refused: Callable[[DeliveryError], None]) -> Api:
    """Return the API of one account; `on_refused` is told of each refusal."""
    sid, token = str(setup.settings["account_sid"]), str(setup.settings["auth_token"])
    shown = base64.b64encode(f"{sid}:{token}".encode()).decode()
    return Api.of(
        setup,
        f"{setup.settings['base_url']}/2010-04-01",
        headers={"Authorization": f"Basic {shown}"},
        masked=(token, shown),
        hosts=_HOSTS,
        on_refused=on_refused,
    )
