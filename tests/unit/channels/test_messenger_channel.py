"""Messenger's own: its tests are those of Instagram, which has the same messages."""

import pytest

from hermes.channels.meta.channel import make_messenger
from hermes.message.parts import FilePart
from hermes.testing.meta.platform import MetaStandIn
from hermes.testing.stand_in import PersonMessage
from tests.unit.channels.webhook_rig import webhook_rig

ADA = "4917000000000"


@pytest.mark.req("W9")
@pytest.mark.quality("media both ways")
async def test_files_of_any_type_are_sent_on_messenger() -> None:
    async with webhook_rig(
        MetaStandIn("messenger"),
        make_messenger,
        package="hermes.channels.meta",
        file="messenger.toml",
    ) as rig:
        await rig.site.say(PersonMessage(text="hello", chat=ADA))
        media = await rig.setup.media.keep(b"notes", mime="text/plain", name="notes.txt")
        await rig.channel.send(rig.delivery(ADA, FilePart(media)))

        assert [one.files for one in rig.site.posts(ADA)] == [("notes.txt",)]
        assert rig.site.rejections == ()
