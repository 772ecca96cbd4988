"""W17, W20: attachments become files before the turn, and what an answer names is attached to it."""

import asyncio
import shutil
import struct
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.app.media import make_media_cache, tenants_of
from hermes.calls.days import Calendar
from hermes.config import Settings
from hermes.control.operations import Operations
from hermes.control.users import UserOrder
from hermes.control.why import explain
from hermes.errors import FailureClass, NotDelivered, TooLarge
from hermes.media.cache import MediaCache
from hermes.media.turn_media import TurnMedia
from hermes.message.event import ScheduledRun
from hermes.message.ids import make_id
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart, text_of
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.channel import Capabilities, Channel, Delivery, Receipt
from hermes.ports.store import Store
from hermes.ports.vision import VisionRequest
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, RunTool, equals, open_rig, settings_of
from tests.contract.journal.test_pictures import BLIND, SEEN_BY_EYE, Scan, eye

QUICK = {"BUSY__PHOTO_BURST_S": "0.2"}
LINKS = {"MEDIA__LINK_HOSTS": '["example.com"]'}
ALL = Capabilities(
    delivery="push",
    edit=True,
    busy="interrupt",
    unknown="allow",
    media=("image", "audio", "video", "file"),
)


def png(shade: int = 0) -> bytes:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 8, 8) + bytes(9)
    return head + bytes(4) + b"IDAT" + bytes(8) + b"IEND" + bytes(4) + bytes([shade])


def opus(seconds: int) -> bytes:
    begin = b"OggS" + bytes(24) + b"OpusHead\x01\x01" + struct.pack("<H", 0) + bytes(80)
    return begin + b"OggS" + bytes(2) + struct.pack("<Q", 48_000 * seconds) + bytes(20)


class Pictures(MemoryChannel):
    """A platform whose attachments are fetched by reference; fits `ports.channel.MediaChannel`."""

    def __init__(self, files: Mapping[str, bytes], capabilities: Capabilities = ALL) -> None:
        super().__init__(capabilities, name="push")
        self.files = dict(files)
        self.fetched: list[str] = []
        self.sent: list[Delivery] = []
        self.hangs = False

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        self.fetched.append(media.ref or "")
        if self.hangs:
            await asyncio.Event().wait()
        if media.ref == "fault":
            raise ZeroDivisionError
        if media.ref == "large":
            raise TooLarge("the attachment has 99 bytes, at most 9 are fetched")
        if media.ref not in self.files:
            raise NotDelivered("the platform is down", FailureClass.SERVICE_UNAVAILABLE)
        return self.files[media.ref]

    async def send(self, delivery: Delivery) -> Receipt:
        self.sent.append(delivery)
        return await super().send(delivery)


def on_shelf(
    home: Path,
    clock: ManualClock,
    store: Store,
    settings: Settings,
    channels: Mapping[str, Channel],
) -> TurnMedia:
    client = HttpClient(HttpSettings())
    media_cache = make_media_cache(home, settings, client=client, store=store, clock=clock)
    return TurnMedia(media_cache, channels)


def opened(
    home: Path,
    channel: Pictures,
    *,
    script: Callable[[SeenConversation, int], ScriptedTurn] | None = None,
    settings: Mapping[str, str] | None = None,
    **more: Any,
):
    clock = ManualClock()
    if script is not None:
        more["script"] = script
    return open_rig(
        home,
        push=channel,
        clock=clock,
        settings={**QUICK, **(settings or {})},
        media=partial(on_shelf, home, clock),
        **more,
    )


def ref(place: str, part: type = ImagePart, *, name: str | None = None) -> Part:
    return part(Media("image/png", ref=place, name=name))


def shown(rig: Rig, call: int = -1) -> tuple[Part, ...]:
    return rig.model.calls[call].request.messages[-1].parts


def held(media: Media) -> bytes:
    return Path(media.path or "").read_bytes()


def kept(home: Path) -> list[str]:
    folder = home / "media"
    return sorted("/".join(one.relative_to(folder).parts[1:]) for one in folder.rglob("*.*"))


def said_by(text: str) -> Callable[[SeenConversation, int], ScriptedTurn]:
    return lambda _seen, _number: ScriptedTurn(text=text)


@pytest.mark.req("W17", "J7")
async def test_a_picture_is_a_file_before_the_model_is_called(tmp_path: Path) -> None:
    channel = Pictures({"cat": png()})
    async with opened(tmp_path, channel) as rig:
        message = await rig.say("look", platform="push", attached=(ref("cat", name="cat.jpg"),))
        assert await rig.outcome(message) == "answered"

        text, picture = shown(rig)
        assert text == TextPart("look")
        assert isinstance(picture, ImagePart)
        media = picture.media
        assert (media.mime, media.name, media.ref, media.url) == (
            "image/png",
            "cat.jpg",
            None,
            None,
        )
        assert held(media) == png()
        assert Path(media.path or "").parent.name == message


@pytest.mark.req("W17")
async def test_what_cannot_be_had_is_told_to_both_and_the_turn_goes_on(tmp_path: Path) -> None:
    channel = Pictures({"good": png(), "bomb": png()[:16] + b"\xff" * 8 + bytes(9)})
    names = ("good", "none", "large", "fault", "bomb")
    async with opened(tmp_path, channel) as rig:
        attached = tuple(ref(name, name=f"{name}.png") for name in names)
        message = await rig.say("look", platform="push", attached=attached)
        assert await rig.outcome(message) == "answered"

        _, good, *notes = shown(rig)
        assert isinstance(good, ImagePart)
        told = [note.text for note in notes if isinstance(note, TextPart)]
        reasons = ["could not be fetched", "too large", "could not be fetched", "pixels"]
        assert all(why in text for why, text in zip(reasons, told, strict=True))
        result = await rig.store.inbox.result(message)
        assert result is not None
        assert result.text.endswith(
            "(I could not open none.png: it could not be fetched; large.png: it is too large; "
            "fault.png: it could not be fetched; bomb.png: it is a picture of 4294967295 x "
            "4294967295 pixels, which is too many.)"
        )
        assert "media_missed" in await rig.kinds(message)


@pytest.mark.req("W17")
async def test_attachments_are_bounded_in_number_and_in_time(tmp_path: Path) -> None:
    channel = Pictures({"cat": png()})
    limits = {"MEDIA__MAX_FILES": "2", "MEDIA__TIMEOUT_S": "0.05"}
    async with opened(tmp_path, channel, settings=limits) as rig:
        few = await rig.say("", platform="push", attached=(ref("cat"), ref("cat"), ref("cat")))
        assert await rig.outcome(few) == "answered"
        channel.hangs = True
        slow = await rig.say("", platform="push", attached=(ref("cat"),), chat="bob")
        assert await rig.outcome(slow) == "answered"

        assert channel.fetched == ["cat"] * 3
        first, second = [await rig.store.inbox.result(one) for one in (few, slow)]
        assert first is not None
        assert second is not None
        assert "a picture: it is one too many" in first.text
        assert "a picture: it did not come in time" in second.text


@pytest.mark.req("W17")
async def test_the_bytes_decide_what_an_attachment_is(tmp_path: Path) -> None:
    svg = b"<svg onload='alert(1)'/>"
    channel = Pictures({"svg": svg, "png": png(), "voice": opus(7), "text": b"words"})
    attached = (ref("svg", name="a.png"), ref("png", FilePart), ref("voice", AudioPart))
    async with opened(tmp_path, channel) as rig:
        message = await rig.say("", platform="push", attached=(*attached, ref("text", AudioPart)))
        await rig.outcome(message)

        parts = [one for one in shown(rig) if not isinstance(one, TextPart)]
        told = " ".join(one.text for one in shown(rig) if isinstance(one, TextPart))
        attachments = [one for one in parts if isinstance(one, ImagePart | AudioPart | FilePart)]
        assert [(type(one), one.media.mime) for one in attachments] == [
            (FilePart, "text/xml"),
            (ImagePart, "image/png"),
            (AudioPart, "audio/ogg"),
            (FilePart, "text/plain"),
        ]
        assert (
            "A voice message that cannot be listened to here: audio/ogg, 154 bytes, 0:07 long"
            in told
        )


@pytest.mark.req("W17", "J7")
async def test_what_was_frozen_is_not_fetched_again_after_a_crash(tmp_path: Path) -> None:
    channel = Pictures({"cat": png()})
    async with opened(tmp_path, channel) as rig:
        attached = (ref("cat"), ref("none", name="b.png"))
        message = await rig.say("[[hang]]", platform="push", attached=attached)
        await rig.until(lambda: len(rig.model.calls) == 1)
        before = shown(rig)

    again = Pictures({})
    async with opened(tmp_path, again, script=said_by("seen")) as rig:
        assert await rig.outcome(message) == "answered"
        assert again.fetched == []
        assert shown(rig) == before
        result = await rig.store.inbox.result(message)
        assert result is not None
        assert result.text == "seen\n\n(I could not open b.png: it could not be fetched.)"


@pytest.mark.req("W17", "J7")
async def test_a_crash_while_fetching_fetches_again(tmp_path: Path) -> None:
    channel = Pictures({"cat": png()})
    channel.hangs = True
    async with opened(tmp_path, channel) as rig:
        message = await rig.say("look", platform="push", attached=(ref("cat"),))
        await rig.until(lambda: channel.fetched == ["cat"])

    again = Pictures({"cat": png()})
    async with opened(tmp_path, again) as rig:
        assert await rig.outcome(message) == "answered"
        assert isinstance(shown(rig)[1], ImagePart)
        assert len(kept(tmp_path)) == 1


@pytest.mark.req("W17", "J13")
async def test_every_photo_of_an_album_is_fetched(tmp_path: Path) -> None:
    channel = Pictures({name: png(ord(name)) for name in "abc"})
    async with opened(tmp_path, channel, settings={"MEDIA__MAX_FILES": "1"}) as rig:
        sent = [
            await rig.say("", platform="push", attached=(ref(name),), album="1") for name in "abc"
        ]
        assert [await rig.outcome(one) for one in sent] == ["answered", "merged", "merged"]

        pictures = [one for one in shown(rig) if isinstance(one, ImagePart)]
        read = [held(one.media) for one in pictures]
        assert read == [png(ord(name)) for name in "abc"]
        assert {one.split("/")[0] for one in kept(tmp_path)} == {sent[0]}


@pytest.mark.req("W17", "J13")
async def test_photos_that_a_stopped_album_did_not_use_are_fetched_for_their_own_turns(
    tmp_path: Path,
) -> None:
    channel = Pictures({name: png(ord(name)) for name in "ab"})
    failing = iter([ScriptedTurn(fault="status", status=400)])
    script = lambda _seen, _number: next(failing, ScriptedTurn(text="seen"))  # noqa: E731
    async with opened(tmp_path, channel, script=script) as rig:
        sent = [
            await rig.say("", platform="push", attached=(ref(name),), album="1") for name in "ab"
        ]
        assert [await rig.outcome(one) for one in sent] == ["failed", "answered"]

        lane = rig.lane(platform="push")
        view = await rig.store.turns.view(lane)
        said = await rig.store.transcripts.history(lane, epoch=view.epoch, head=view.head)
        media = [
            part.media for one in said.messages for part in one.parts if isinstance(part, ImagePart)
        ]
        assert [Path(one.path or "").parent.name for one in media] == sent
        assert not any(one.ref for one in media)


@pytest.mark.req("W17", "J13")
async def test_a_photo_that_is_steered_into_a_turn_is_fetched_too(tmp_path: Path) -> None:
    channel = Pictures({"cat": png()})
    started, go_on = asyncio.Event(), asyncio.Event()

    async def wait(_context: object) -> str:
        started.set()
        await go_on.wait()
        return "done"

    steering = {"BUSY__PLATFORMS__PUSH": "steer"}
    tools = (RunTool("wait", wait),)
    async with opened(tmp_path, channel, settings=steering, tools=tools) as rig:
        host = await rig.say("[[tool:wait]]", platform="push")
        await started.wait()
        steered = await rig.say("and this", platform="push", attached=(ref("cat"),))
        go_on.set()

        assert [await rig.outcome(one) for one in (host, steered)] == ["answered", "merged"]
        _, picture = shown(rig)
        assert isinstance(picture, ImagePart)
        assert held(picture.media) == png()


@pytest.mark.req("W17")
async def test_strangers_and_commands_have_nothing_fetched(tmp_path: Path) -> None:
    channel = Pictures({"cat": png()})
    closed = {"ACCESS__PLATFORMS__PUSH__UNKNOWN": "ignore"}
    async with opened(tmp_path, channel, settings=closed) as rig:
        message = await rig.say("look", platform="push", attached=(ref("cat"),))
        await rig.outcome(message)
        assert channel.fetched == []


@pytest.mark.req("W17", "J24")
async def test_an_erased_persons_files_are_gone(tmp_path: Path) -> None:
    channel = Pictures({"cat": png()})
    async with opened(tmp_path, channel) as rig:
        sent = ""
        for chat in ("ann", "bob"):
            sent = await rig.say("look", platform="push", chat=chat, attached=(ref("cat"),))
            await rig.outcome(sent)
        media_cache = MediaCache(tmp_path / "media", HttpClient(HttpSettings()))
        desk = Operations(
            rig.store,
            calendar=Calendar(None),
            clock=rig.clock,
            make_id=make_id,
            address="",
            forget_files=media_cache.erase,
        )
        assert len(kept(tmp_path)) == 2

        await desk.users.erase(UserOrder(user="push:ann"))

        assert [one.split("/")[0] for one in kept(tmp_path)] == [sent]


@pytest.mark.req("W17", "J9", "J18")
async def test_what_an_open_turn_or_an_unsent_reply_needs_stays(tmp_path: Path) -> None:
    channel = Pictures({"cat": png()})
    async with opened(tmp_path, channel, sending=False) as rig:
        needs = tenants_of(rig.store).needs
        done = await rig.say("look", attached=(ref("cat"),))
        assert await rig.outcome(done) == "answered"
        unsent = await rig.say("look", platform="push", chat="bob")
        assert await rig.outcome(unsent) == "answered"
        running = await rig.say("[[hang]]", platform="push")
        await rig.until(lambda: len(rig.model.calls) == 3)

        assert [await needs(one) for one in (done, unsent, running, "m_none")] == [
            False,
            True,
            True,
            False,
        ]
        rig.core.push.connected(channel)
        await rig.until(equals(lambda: needs(unsent), False))


@pytest.mark.req("W20")
async def test_files_that_an_answer_names_are_attached_to_it(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "cat.png").write_bytes(png())
    text = f"Here:\nMEDIA: {files}/cat.png\nMEDIA: https://example.com/a.pdf\nMEDIA: /etc/passwd\nEnjoy."
    home = tmp_path / "home"
    home.mkdir()
    channel = Pictures({})
    allowed = {"MEDIA__FOLDERS": f'["{files}"]', **LINKS}
    async with opened(home, channel, script=said_by(text), settings=allowed) as rig:
        message = await rig.say("send it", platform="push")
        assert await rig.outcome(message) == "answered"
        await rig.until(lambda: len(channel.sent) == 3)

        said, picture, paper = (one.parts[0] for one in channel.sent)
        refused = "(passwd was not sent: it is not in a folder whose files may be sent.)"
        assert said == TextPart(f"Here:\nEnjoy.\n\n{refused}")
        assert isinstance(picture, ImagePart)
        assert Path(picture.media.path or "").parent.name == message
        assert paper == FilePart(
            Media("application/pdf", url="https://example.com/a.pdf", name="a.pdf")
        )
        # What the model wrote stays as it wrote it.
        lane = rig.lane(platform="push")
        view = await rig.store.turns.view(lane)
        history = await rig.store.transcripts.history(lane, epoch=view.epoch, head=view.head)
        assert history.messages[-1].text == text


@pytest.mark.req("W20", "W29")
async def test_a_scheduled_answer_that_is_cut_keeps_its_attachments(tmp_path: Path) -> None:
    text = f"{'word ' * 1_000}\nMEDIA: https://example.com/a.pdf\nMEDIA: /etc/passwd"
    channel = Pictures({})
    async with opened(tmp_path, channel, script=said_by(text), settings=LINKS) as rig:
        due = ScheduledRun(job="j_1", due_at=rig.clock.now())
        message = await rig.say("tell", platform="push", scheduled=due)
        assert await rig.outcome(message) == "answered"
        await rig.until(lambda: len(channel.sent) == 3)

        *said, paper = (one.parts[0] for one in channel.sent)
        told = text_of(tuple(said))
        assert "/schedule output j_1" in told
        assert told.endswith(
            "(passwd was not sent: it is not in a folder whose files may be sent.)"
        )
        assert len(told) < 4_200
        assert isinstance(paper, FilePart)


@pytest.mark.req("W20")
async def test_a_file_alone_is_an_answer(tmp_path: Path) -> None:
    channel = Pictures({})
    script = said_by("MEDIA: https://example.com/a.png")
    async with opened(tmp_path, channel, script=script, settings=LINKS) as rig:
        message = await rig.say("send it", platform="push")
        assert await rig.outcome(message) == "answered"
        await rig.until(lambda: len(channel.sent) == 1)
        assert isinstance(channel.sent[0].parts[0], ImagePart)


@pytest.mark.req("W20")
@pytest.mark.parametrize("hosts", ["[]", '["example.com", "*.evil.test"]'])
async def test_a_link_of_a_host_that_is_not_listed_is_text_and_never_fetched(
    tmp_path: Path, hosts: str
) -> None:
    channel = Pictures({})
    url = "https://evil.test/a.png?d=what_the_model_knows"
    script = said_by(f"Look:\nMEDIA: {url}")
    settings = {"MEDIA__LINK_HOSTS": hosts}
    async with opened(tmp_path, channel, script=script, settings=settings) as rig:
        message = await rig.say("send it", platform="push")
        assert await rig.outcome(message) == "answered"
        await rig.until(lambda: len(channel.sent) == 1)

        assert channel.sent[0].parts == (TextPart(f"Look:\n\n{url}"),)
        report = await explain(rig.store, message, now=rig.clock.now(), include_text=False)
        shown = msgspec.json.encode(report).decode()
        assert "link_not_fetched" in shown
        assert "evil.test" in shown
        assert "what_the_model_knows" not in shown


@pytest.mark.req("W20")
@pytest.mark.parametrize("platform", ["rest", "push"])
async def test_where_nothing_can_be_attached_the_text_names_it(
    tmp_path: Path, platform: str
) -> None:
    channel = Pictures({}, Capabilities(delivery="push", unknown="allow"))
    text = "Here:\nMEDIA: https://example.com/a(1).pdf\nThere."
    async with opened(tmp_path, channel, script=said_by(text)) as rig:
        message = await rig.say("send it", platform=platform)
        pieces = [
            one.text
            async for one in rig.core.gateway_api.watch(message)
            if one.kind in ("delta", "snapshot")
        ]
        result = await rig.store.inbox.result(message)
        assert result is not None
        assert result.text == "Here:\nThere.\n\n[a_1_.pdf](https://example.com/a%281%29.pdf)"
        # Whoever watches is shown nothing that the end takes back.
        assert "".join(pieces) == "Here:\nThere."


@pytest.mark.req("W20")
async def test_thoughts_and_code_send_nothing(tmp_path: Path) -> None:
    text = "<think>\nMEDIA: https://example.com/a.png\n</think>\nUse:\n```\nMEDIA: /x\n```"
    channel = Pictures({})
    async with opened(tmp_path, channel, script=said_by(text)) as rig:
        message = await rig.say("how", platform="push")
        assert await rig.outcome(message) == "answered"
        assert (await rig.timeline(message)).deliveries[0].parts == (TextPart(text),)


@pytest.mark.req("W17", "W20")
async def test_a_home_at_another_path_shows_and_sends_the_files_that_it_has(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    files = tmp_path / "files"
    files.mkdir()
    (files / "dog.png").write_bytes(png(9))
    settings = {"MEDIA__FOLDERS": f'["{files}"]'}
    script = said_by(f"Here:\nMEDIA: {files}/dog.png")
    channel = Pictures({"cat": png()})
    async with opened(here, channel, script=script, settings=settings, sending=False) as rig:
        first = await rig.say("look", platform="push", attached=(ref("cat"),))
        assert await rig.outcome(first) == "answered"
    async with opened(here, channel, settings=settings, start=False, sending=False) as rig:
        waiting = await rig.say("and this?", platform="push", attached=(ref("cat"),))
    shutil.move(here, there)

    channel = Pictures({"cat": png()})
    async with opened(there, channel, settings=settings) as rig:
        assert await rig.outcome(waiting) == "answered"
        await rig.until(lambda: any(isinstance(one.parts[0], ImagePart) for one in channel.sent))

        request = rig.model.calls[-1].request
        seen = [part for message in request.messages for part in message.parts]
        pictures = [part.media for part in seen if isinstance(part, ImagePart)]
        (sent,) = [one.parts[0] for one in channel.sent if isinstance(one.parts[0], ImagePart)]
        assert len(pictures) == 2
        assert [held(one) for one in pictures] == [png(), png()]
        assert all(Path(one.path or "").is_relative_to(there) for one in pictures)
        client = HttpClient(HttpSettings())
        shelf = make_media_cache(
            there, settings_of(there, settings), client=client, store=rig.store, clock=rig.clock
        )
        assert await shelf.read(sent.media, limit=1_000) == png(9)


@pytest.mark.req("W17", "A16")
async def test_a_picture_is_described_from_its_file(tmp_path: Path) -> None:
    channel, sees = Pictures({"cat": png()}), eye()
    async with opened(tmp_path, channel, blind=True, beside={"eye": sees}, settings=BLIND) as rig:
        message = await rig.say("look", platform="push", attached=(ref("cat"),))
        assert await rig.outcome(message) == "answered"

        parts = [part for one in sees.calls[0].request.messages for part in one.parts]
        (picture,) = [part for part in parts if isinstance(part, ImagePart)]
        assert held(picture.media) == png()
        assert "A red bicycle" in str(shown(rig))


@pytest.mark.req("W17", "A16")
async def test_a_plugin_gets_the_whole_path_of_a_picture(tmp_path: Path) -> None:
    async def measure(asked: VisionRequest) -> str:
        said = await asked.look("What is it?")
        return f"{said}, {len(held(asked.pictures[0].media))} bytes"

    channel, sees = Pictures({"cat": png()}), eye(said_by("rice"))
    async with opened(
        tmp_path, channel, visions=(Scan(measure),), beside={"eye": sees}, settings=SEEN_BY_EYE
    ) as rig:
        message = await rig.say("how many calories?", platform="push", attached=(ref("cat"),))
        assert await rig.outcome(message) == "answered"
        result = await rig.store.inbox.result(message)
        assert result is not None
        assert result.text == f"rice, {len(png())} bytes"
