"""Passes on what a platform says only later of a message that was sent: it arrived, or it never will."""

from typing import Final

from hermes.channel_kit.refusals import ApiAnswer, failure_by
from hermes.errors import FailureClass
from hermes.ports.channel import ArrivedDelivery, ReturnedDelivery
from hermes.ports.channel_setup import ChannelSetup

# What the platform refuses later has no status of its own; the rows go by its code.
_REFUSED: Final = 400


async def tell_arrived(setup: ChannelSetup, key: str, *, message_id: str) -> None:
    """Tell that the message that was sent under a key has arrived; it is durable then."""
    if setup.arrived is not None:
        await setup.arrived(ArrivedDelivery(key=key, platform_message_id=message_id))


async def tell_returned(setup: ChannelSetup, key: str, *, code: str) -> None:
    """Tell that the message that was sent under a key did not arrive; the manifest's rows say why."""
    if setup.returned is not None:
        said = ApiAnswer(status=_REFUSED, code=code)
        error = failure_by(said, setup.rows.refusal, platform=setup.name)
        failure = FailureClass.REJECTED if error is None else error.failure
        await setup.returned(ReturnedDelivery(key=key, failure=failure, status=code))
