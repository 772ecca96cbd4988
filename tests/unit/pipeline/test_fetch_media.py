"""`fetch_media` alone: attachments become files, and one that cannot be had ends nothing."""

import asyncio
from dataclasses import dataclass, field

import msgspec
import pytest

from hermes.config import MediaSettings, Settings
from hermes.errors import BadRequest, HermesError, NotFound, TooLarge
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, NotePart, TextPart
from hermes.pipeline.stages.fetch_media import fetch_media
from hermes.pipeline.turn import Turn
from hermes.ports.media import LocalMedia, MediaOwner
from tests.unit.pipeline.stage_parts import Context, make_event, make_turn

PHOTO = ImagePart(Media("image/jpeg", ref="photo", name="cat.jpg"))
HERE = Media("image/png", path="/shelf/1", name="cat.jpg", size=12)


class Shelf:
    """Brings what it has; raises what it was given for the rest."""

    def __init__(self, *found: tuple[str, LocalMedia | Exception]) -> None:
        self._found = dict(found)
        self.owners: list[MediaOwner] = []
        self.running = self.most = 0

    async def bring(self, media: Media, *, platform: str, owner: MediaOwner) -> LocalMedia:
        self.owners.append(owner)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        found = self._found.get(media.ref or "")
        if found is None:
            await asyncio.Event().wait()
        if isinstance(found, Exception):
            raise found
        assert found is not None
        return found


@dataclass(frozen=True)
class Services:
    media: Shelf | None = None
    settings: Settings = field(default_factory=Settings)


async def fetch(turn: Turn, ctx: Context[Services]) -> Turn:
    fetched = await fetch_media(turn, ctx)
    assert isinstance(fetched, Turn)
    return fetched


@pytest.mark.req("W17")
async def test_a_message_without_attachments_passes_untouched() -> None:
    turn, media_cache = make_turn(), Shelf()

    assert await fetch_media(turn, Context(Services(media_cache))) is turn
    assert media_cache.owners == []


@pytest.mark.req("W17")
async def test_where_nobody_fetches_attachments_stay_as_they_came() -> None:
    turn = make_turn(make_event(attached=(PHOTO,)))

    assert await fetch_media(turn, Context(Services())) is turn


@pytest.mark.req("W17")
async def test_attachments_are_fetched_at_once_and_keep_their_places() -> None:
    sound = AudioPart(Media("audio/ogg", ref="sound"))
    media_cache = Shelf(
        ("photo", LocalMedia(HERE)),
        ("sound", LocalMedia(Media("audio/ogg", path="/shelf/2", size=2_000), seconds=61.0)),
    )
    ctx = Context(Services(media_cache))

    turn = await fetch(make_turn(make_event("look", attached=(PHOTO, sound))), ctx)

    text, picture, audio, note = turn.event.parts
    assert (text, picture) == (TextPart("look"), ImagePart(HERE))
    assert isinstance(audio, AudioPart)
    assert isinstance(note, NotePart)
    assert "2 kB, 1:01 long" in note.text
    assert (media_cache.most, media_cache.owners) == (2, [MediaOwner("p_ann", "m_1")] * 2)
    assert (turn.missed, ctx.journal.notes) == ("", [])


@pytest.mark.req("W17")
async def test_what_the_bytes_are_counts_and_not_what_the_sender_called_them() -> None:
    media_cache = Shelf(("photo", LocalMedia(Media("application/pdf", path="/shelf/3", size=3))))

    turn = await fetch(make_turn(make_event("", attached=(PHOTO,))), Context(Services(media_cache)))

    assert [type(part) for part in turn.event.parts] == [FilePart, NotePart]


@pytest.mark.req("A8", "W17")
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (TooLarge("20 MB"), "it is too large"),
        (NotFound("gone"), "it is gone"),
        (BadRequest("It is no picture."), "It is no picture"),
        (HermesError("secret address"), "it could not be fetched"),
        (RuntimeError("a fault"), "it could not be fetched"),
    ],
)
async def test_one_that_cannot_be_had_is_told_to_model_and_person(
    error: Exception, why: str
) -> None:
    ctx = Context(Services(Shelf(("photo", error))))

    turn = await fetch(make_turn(make_event("look", attached=(PHOTO,))), ctx)

    note = turn.event.parts[1]
    assert isinstance(note, NotePart)
    assert f"cat.jpg was sent along and cannot be seen here: {why}." in note.text
    assert turn.missed == f"I could not open cat.jpg: {why}."
    assert ctx.journal.notes == [("media_missed", {"count": 1})]


@pytest.mark.req("A8", "W17")
async def test_one_that_does_not_come_in_time_is_given_up() -> None:
    settings = Settings(media=MediaSettings(timeout_s=0.01))
    ctx = Context(Services(Shelf(), settings))

    turn = await fetch(make_turn(make_event("look", attached=(PHOTO,))), ctx)

    assert turn.missed == "I could not open cat.jpg: it did not come in time."


@pytest.mark.req("W17")
async def test_more_than_the_setting_allows_are_not_fetched() -> None:
    settings = Settings(media=MediaSettings(max_files=1))
    media_cache = Shelf(("photo", LocalMedia(HERE)))

    turn = await fetch(
        make_turn(make_event("", attached=(PHOTO, PHOTO))), Context(Services(media_cache, settings))
    )

    assert turn.event.parts[0] == ImagePart(HERE)
    assert turn.missed == "I could not open cat.jpg: it is one too many."
    assert len(media_cache.owners) == 1


@pytest.mark.req("W17", "W20")
async def test_joined_messages_may_bring_as_many_each_and_the_own_event_keeps_its_own() -> None:
    settings = Settings(media=MediaSettings(max_files=1))
    media_cache = Shelf(("photo", LocalMedia(HERE)))
    own = make_event("", attached=(PHOTO,))
    turn = make_turn(make_event("", attached=(PHOTO, PHOTO)))
    turn = msgspec.structs.replace(turn, own=own, joined=("m_2",))

    fetched = await fetch(turn, Context(Services(media_cache, settings)))

    assert fetched.event.parts == (ImagePart(HERE), ImagePart(HERE))
    assert fetched.own is not None
    assert fetched.own.parts == (ImagePart(HERE),)


@pytest.mark.req("W17")
async def test_one_that_came_by_value_is_not_fetched() -> None:
    inline = ImagePart(Media("image/png", url="DATA:image/png;base64,AA=="))
    media_cache = Shelf()

    turn = await fetch(
        make_turn(make_event("", attached=(inline,))), Context(Services(media_cache))
    )

    assert turn.event.parts == (inline,)
    assert media_cache.owners == []
