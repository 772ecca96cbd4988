"""How long a channel that takes messages in order waits for one sender."""

import pytest

from hermes.net.over_share import OverShare


@pytest.mark.req("A28")
def test_a_sender_is_waited_for_once_and_again_only_after_a_message_was_taken() -> None:
    now = [0.0]
    over = OverShare(lambda: now[0])

    assert over.may_hold("ann")
    now[0] = 59.0
    assert over.may_hold("ann")
    now[0] = 60.0
    assert not over.may_hold("ann")
    assert over.may_hold("bob")
    over.taken("ann")
    assert over.may_hold("ann")
