"""What `hermes channels add email` finds out by itself: the name of the server that checks senders."""

import asyncio

import pytest

from hermes.channels.email.suggestions import judged, suggest
from hermes.errors import ConfigurationError
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.testing.email.server import EmailStandIn
from hermes.testing.stand_in import PersonMessage


async def looked_at(office: EmailStandIn, **changed: object) -> tuple[str, str]:
    manifest = load_manifest("hermes.channels.email")
    given = {**office.settings, **changed, "authserv_id": None}
    found = await suggest("authserv_id", read_settings(manifest, given, whole=False))
    return found.value, found.why


@pytest.mark.req("W12")
async def test_the_name_comes_from_the_mailbox_which_stays_unread() -> None:
    office = EmailStandIn()
    await office.start()
    assert await looked_at(office) == ("", judged(()).why)
    saying = [asyncio.create_task(office.say(PersonMessage(text=text))) for text in ("one", "two")]
    await asyncio.sleep(0)

    value, why = await looked_at(office)

    assert value == "mx.hermes.test"
    assert "(2) say that mx.hermes.test checked them" in why
    assert not any(one.done() for one in saying)
    with pytest.raises(ConfigurationError, match="the mailbox cannot be read"):
        await looked_at(office, password="another")
    assert list(office.rejections) == []
    for one in saying:
        one.cancel()
    await office.stop()


@pytest.mark.req("W12")
def test_only_what_all_mails_agree_on_is_proposed() -> None:
    assert judged(("mx.a", "mx.a")).value == "mx.a"
    assert judged(("mx.a", "")).value == ""
    assert judged(("", "")).value == ""
    assert "trust has to be none" in judged(("",)).why
    # Whoever writes to the mailbox can put in a line of their own where the server has none.
    forged = judged(("mx.evil", "mx.a"))
    assert forged.value == ""
    assert "do not agree (mx.a, mx.evil)" in forged.why
