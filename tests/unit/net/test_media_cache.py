"""W17, W20: the shelf of attachments: what it takes, whose it is, what may be sent, and what goes."""

import os
import shutil
import stat
import struct
import zipfile
from collections.abc import Awaitable, Collection
from functools import partial
from io import BytesIO
from pathlib import Path

import msgspec
import pytest

from hermes.errors import BadRequest, Forbidden, HermesError, NotFound, Refused, TooLarge
from hermes.media.cache import CacheRules, MediaCache, erase_files
from hermes.media.eviction import Tenants
from hermes.media.turn_media import TurnMedia
from hermes.message.parts import ImagePart, Media
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.channel import Capabilities
from hermes.ports.media import MediaOwner
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel

ANN = MediaOwner("p_ann", "m_1")
BOB = MediaOwner("p_bob", "m_2")
DAY = 86_400.0


# A chunk with the points, here none, and the last one.
POINTS = bytes(4) + b"IDAT" + bytes(8) + b"IEND" + bytes(4)


def png(width: int = 8, height: int = 8, more: bytes = b"") -> bytes:
    head = struct.pack(">I4sII", 13, b"IHDR", width, height)
    return b"\x89PNG\r\n\x1a\n" + head + bytes(9) + POINTS + more


def bomb() -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("zeros.bin", bytes(60_000_000))
    return held.getvalue()


async def is_among(names: Collection[str], name: str) -> bool:
    return name in names


class Home:
    """A home with a shelf, a folder that may be sent from, and some that may not."""

    def __init__(
        self,
        folder: Path,
        *,
        needed: Collection[str] = (),
        erased: Collection[str] = (),
        **rules: int,
    ) -> None:
        self.path = folder / "home"
        self.files = folder / "files"
        self.media = self.path / "media"
        self.path.mkdir(exist_ok=True)
        self.files.mkdir(exist_ok=True)
        self.clock = ManualClock()
        self.media_cache = MediaCache(
            self.media,
            HttpClient(HttpSettings()),
            rules=CacheRules(folders=(self.files,), link_hosts=(), **rules),
            tenants=Tenants(partial(is_among, needed), partial(is_among, erased)),
            clock=self.clock,
        )
        push = MemoryChannel(Capabilities(delivery="push", media=("image",)), name="push")
        pull = MemoryChannel(Capabilities(delivery="pull", media=("image",)), name="pull")
        plain = MemoryChannel(Capabilities(delivery="pull"), name="plain")
        channels = {"push": push, "pull": pull, "plain": plain}
        self.desk = TurnMedia(self.media_cache, channels)

    def kept(self) -> set[str]:
        found = self.media.rglob("*")
        return {str(one.relative_to(self.media)) for one in found if one.is_file()}


def held(home: Home, media: Media) -> bytes:
    return (home.media / (media.path or "")).read_bytes()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def lose(home: Home, media: Media) -> None:
    (home.media / (media.path or "")).unlink()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.req("W17")
async def test_a_file_is_private_named_by_its_bytes_and_of_their_type(home: Home) -> None:
    media = await home.media_cache.put(png(), owner=ANN, name="../evil.exe")

    path = home.media / (media.path or "")
    assert (media.mime, media.name, media.size) == ("image/png", "evil.exe", len(png()))
    assert path.parent == home.media / "p_ann" / "m_1"
    assert len(path.stem) == 64
    assert path.suffix == ".png"
    assert mode(path) == 0o600
    assert mode(path.parent) == 0o700
    assert await home.media_cache.put(png(), owner=ANN, name="../evil.exe") == media
    assert len(home.kept()) == 1


@pytest.mark.req("W17")
@pytest.mark.parametrize(
    ("data", "error", "why"),
    [
        (png(60_000, 60_000), BadRequest, "60000 x 60000 pixels"),
        (png()[:14], BadRequest, "broken picture"),
        (png()[:30], BadRequest, "end is missing"),
        (bomb(), BadRequest, "far more"),
        (bytes(1_000_001), TooLarge, "1000001 bytes"),
    ],
)
async def test_what_would_do_harm_is_not_taken(
    tmp_path: Path, data: bytes, error: type[HermesError], why: str
) -> None:
    home = Home(tmp_path, max_bytes=1_000_000)
    with pytest.raises(error, match=why):
        await home.media_cache.put(data, owner=ANN)
    assert home.kept() == set()


@pytest.mark.req("W17")
async def test_a_picture_that_was_cut_off_before_it_was_kept_is_not_taken(home: Home) -> None:
    media = await home.media_cache.keep(png()[:30], mime="image/png", name="a.png")
    with pytest.raises(BadRequest, match="end is missing"):
        await home.media_cache.adopt(media, ANN)


@pytest.mark.req("W17")
async def test_what_a_channel_kept_goes_to_the_turn_that_uses_it(home: Home) -> None:
    first = await home.media_cache.keep(png(), mime="text/html", name="a.png")
    second = await home.media_cache.keep(png(), mime="image/png", name="a.png")
    assert first.mime == "image/png"
    assert first.path != second.path

    ann = (await home.desk.bring(first, platform="push", owner=ANN)).media
    bob = (await home.desk.bring(second, platform="push", owner=BOB)).media
    again = (await home.desk.bring(first, platform="push", owner=ANN)).media
    later = (await home.desk.bring(first, platform="push", owner=MediaOwner("p_ann", "m_9"))).media

    name = Path(ann.path or "").name
    assert home.kept() == {f"p_ann/m_1/{name}", f"p_bob/m_2/{name}", f"p_ann/m_9/{name}"}
    assert again == ann
    assert held(home, later) == png() == held(home, bob)


@pytest.mark.req("W17")
async def test_what_was_kept_and_is_gone_is_not_found(home: Home) -> None:
    kept = await home.media_cache.keep(png(), mime="image/png")
    lose(home, kept)
    with pytest.raises(NotFound):
        await home.desk.bring(kept, platform="push", owner=ANN)


@pytest.mark.req("W17")
@pytest.mark.parametrize(
    ("media", "error"),
    [
        (Media("image/png", ref="x", size=30_000_000), TooLarge),
        (Media("image/png", ref="x"), BadRequest),
        (Media("image/png"), BadRequest),
        (Media("image/png", url="http://127.0.0.1:1/a.png"), HermesError),
        (Media("image/png", url="http://169.254.169.254/latest"), HermesError),
    ],
)
async def test_what_cannot_be_fetched_is_an_error(
    home: Home, media: Media, error: type[HermesError]
) -> None:
    with pytest.raises(error):
        await home.desk.bring(media, platform="push", owner=ANN)
    assert home.kept() == set()


@pytest.mark.req("W20")
async def test_a_file_of_an_open_folder_is_lent_as_it_is_now(home: Home) -> None:
    (home.files / "deep").mkdir()
    path = home.files / "deep" / "cat.png"
    path.write_bytes(png())
    (home.files / "link.png").symlink_to(path)

    lent = await home.desk.lend(str(path), owner=ANN)
    named = [
        await home.desk.lend(place, owner=ANN)
        for place in (f"file://{path}", "deep/cat.png", str(home.files / "link.png"))
    ]
    path.write_bytes(b"something else")

    assert (lent.mime, lent.name) == ("image/png", "cat.png")
    assert [one.path for one in named] == [lent.path] * 3
    assert await home.media_cache.read(lent, limit=1_000) == png()


@pytest.mark.req("W20")
async def test_what_was_sent_to_an_agent_may_be_sent_back_to_that_person_alone(home: Home) -> None:
    kept = await home.media_cache.put(png(), owner=ANN)
    assert kept.path is not None

    back = await home.desk.lend(kept.path, owner=MediaOwner("p_ann", "m_7"))

    assert await home.media_cache.read(back, limit=1_000) == png()
    with pytest.raises(Forbidden):
        await home.desk.lend(kept.path, owner=BOB)


def traps(home: Home) -> dict[str, str]:
    """Return places that must never be read, by what is wrong with them."""
    secret = home.path / "hermes.db"
    secret.write_bytes(b"SECRET")
    (home.path / ".env").write_bytes(b"SECRET")
    (home.path / "keys").mkdir()
    (home.path / "keys" / "store.keys").write_bytes(b"SECRET")
    (home.files / ".hidden").write_bytes(b"SECRET")
    (home.files / ".git").mkdir()
    (home.files / ".git" / "config").write_bytes(b"SECRET")
    (home.files / "link").symlink_to(secret)
    (home.files / "folder").symlink_to(home.path)
    (home.files / "self").symlink_to("/proc/self")
    (home.files / "loop").symlink_to("loop")
    os.mkfifo(home.files / "pipe")
    beside = home.files.parent / "files-beside"
    beside.mkdir()
    (beside / "a").write_bytes(b"SECRET")
    return {
        "absolute": "/etc/passwd",
        "database": str(secret),
        "env": str(home.path / ".env"),
        "keys": str(home.path / "keys" / "store.keys"),
        "traversal": str(home.files / ".." / "home" / "hermes.db"),
        "relative traversal": "../home/hermes.db",
        "shelf traversal": str(home.media / ".." / "hermes.db"),
        "symlink": str(home.files / "link"),
        "linked folder": str(home.files / "folder" / "hermes.db"),
        "proc": "/proc/self/environ",
        "proc by a link": str(home.files / "self" / "environ"),
        "proc root": "/proc/self/root/etc/passwd",
        "device": "/dev/zero",
        "hidden": str(home.files / ".hidden"),
        "in a hidden folder": str(home.files / ".git" / "config"),
        "pipe": str(home.files / "pipe"),
        "loop": str(home.files / "loop"),
        "folder": str(home.files),
        "a name that begins alike": str(beside / "a"),
        "no file": str(home.files / "none"),
        "nul": "/etc/passwd\x00.png",
        "empty": "",
        "file address": "file:///etc/passwd",
        "coded": f"file://{home.files}/%2e%2e/home/hermes.db",
        "tilde": "~/.ssh/id_rsa",
        "http": "http://example.com/a.png",
        "ftp": "ftp://example.com/a.png",
        "with a password": "https://:secret@example.com/a.png",
        "with a user": "https://ann@example.com/a.png",
        "without a host": "https:///a.png",
        "data": "data:text/plain,x",
    }


async def is_refused(work: Awaitable[object]) -> bool:
    try:
        await work
    except Refused:
        return True
    return False


@pytest.mark.req("W20")
async def test_nothing_else_is_ever_lent_or_read(home: Home) -> None:
    for what, place in traps(home).items():
        assert await is_refused(home.desk.lend(place, owner=ANN)), what
        read = home.media_cache.read(Media("text/plain", path=place), limit=1_000)
        assert await is_refused(read), what
    assert not any(b"SECRET" in (home.media / one).read_bytes() for one in home.kept())


@pytest.mark.req("W20")
async def test_the_home_is_closed_even_where_a_folder_around_it_is_open(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (home.path / "hermes.db").write_bytes(b"SECRET")
    wide = MediaCache(
        home.media, HttpClient(HttpSettings()), rules=CacheRules(folders=(tmp_path, Path("/")))
    )
    for place in (home.path / "hermes.db", Path("/proc/self/environ")):
        with pytest.raises(Forbidden):
            await wide.open(str(place), owner=ANN)


@pytest.mark.req("W20")
async def test_an_address_is_lent_without_being_fetched(home: Home) -> None:
    lent = await home.desk.lend("https://example.com/pictures/a%20cat.png?x=1", owner=ANN)
    assert lent == Media(
        "image/png", url="https://example.com/pictures/a%20cat.png?x=1", name="a cat.png"
    )


@pytest.mark.req("W20")
async def test_too_large_a_file_is_not_read(tmp_path: Path) -> None:
    home = Home(tmp_path, max_bytes=100)
    (home.files / "big.bin").write_bytes(bytes(101))
    with pytest.raises(TooLarge):
        await home.desk.lend("big.bin", owner=ANN)
    (home.files / "fits.bin").write_bytes(bytes(100))
    lent = await home.desk.lend("fits.bin", owner=ANN)
    with pytest.raises(TooLarge):
        await home.media_cache.read(lent, limit=99)


@pytest.mark.req("W20")
def test_a_platform_takes_the_attachments_that_it_declares(home: Home) -> None:
    found = {name: home.desk.takes(name) for name in ("push", "pull", "plain", "none")}
    assert found == {"push": ("image",), "pull": ("image",), "plain": (), "none": ()}


@pytest.mark.req("W20")
async def test_a_file_of_a_message_is_found_where_it_arrived_and_where_its_turn_put_it(
    home: Home,
) -> None:
    data = png(more=b"cat")
    first = await home.media_cache.keep_sent(data, name="cat.png", key="a message")
    again = await home.media_cache.keep_sent(data, name="cat.png", key="a message")
    other = await home.media_cache.keep_sent(data, name="cat.png", key="another message")
    assert (first, first.path != other.path) == (again, True)
    assert await home.media_cache.open_sent(first, owner=ANN) == data

    await home.media_cache.adopt(first, ANN)
    assert await home.media_cache.open_sent(first, owner=ANN) == data
    with pytest.raises(NotFound):
        await home.media_cache.open_sent(first, owner=BOB)
    for elsewhere in ("../../etc/hostname", "/etc/hostname", "../files/x"):
        with pytest.raises((NotFound, Forbidden)):
            await home.media_cache.open_sent(Media("text/plain", path=elsewhere), owner=ANN)


@pytest.mark.req("W17", "J24")
async def test_erasing_a_person_removes_their_files_alone(home: Home) -> None:
    await home.media_cache.put(png(), owner=ANN)
    await home.media_cache.put(png(more=b"2"), owner=MediaOwner("p_ann", "m_3"))
    theirs = await home.media_cache.put(png(), owner=BOB)

    await home.media_cache.erase("p_ann")

    assert home.kept() == {theirs.path}


@pytest.mark.req("J24")
def test_erasing_a_person_who_has_no_files_fails_nothing(tmp_path: Path) -> None:
    erase_files(tmp_path, "p_ann")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("W17", "J24")
async def test_files_of_the_erased_that_came_too_late_go_with_the_upkeep(tmp_path: Path) -> None:
    home = Home(tmp_path, erased=("p_ann",), needed=("m_1",))
    await home.media_cache.put(png(), owner=ANN)
    await home.media_cache.tidy()
    assert home.kept() == set()


@pytest.mark.req("W17")
async def test_the_old_goes_unless_it_is_needed(tmp_path: Path) -> None:
    home = Home(tmp_path, needed=("m_open",))
    await home.media_cache.put(png(), owner=ANN)
    await home.media_cache.put(png(), owner=MediaOwner("p_ann", "m_open"))
    await home.media_cache.keep(png(), mime="image/png")
    home.clock.advance(DAY / 2)
    await home.media_cache.tidy()
    assert len(home.kept()) == 3

    home.clock.advance(DAY)
    await home.media_cache.tidy()
    assert not any("arrived" in one for one in home.kept())
    assert len(home.kept()) == 2

    home.clock.advance(6 * DAY)
    await home.media_cache.put(png(), owner=MediaOwner("p_ann", "m_new"))
    await home.media_cache.tidy()
    assert {one.split("/")[1] for one in home.kept()} == {"m_open", "m_new"}


@pytest.mark.req("W17")
async def test_the_oldest_goes_where_there_is_too_much(tmp_path: Path) -> None:
    home = Home(tmp_path, needed=("m_0",), cache_bytes=1_000)
    for number in range(6):
        home.clock.advance(60)
        owner = MediaOwner("p_ann", f"m_{number}")
        await home.media_cache.put(bytes([number]) * 240, owner=owner)

    assert {one.split("/")[1] for one in home.kept()} == {"m_0", "m_3", "m_4", "m_5"}


@pytest.mark.req("W17", "A28")
async def test_who_has_more_than_their_share_loses_their_own_first(tmp_path: Path) -> None:
    home = Home(tmp_path, cache_bytes=1_000, share_bytes=300)
    await home.media_cache.put(bytes(100), owner=BOB)
    for number in range(12):
        home.clock.advance(60)
        owner = MediaOwner("p_mallory", f"m_{number}")
        await home.media_cache.put(bytes([number]) * 200, owner=owner)
    home.clock.advance(60)
    await home.media_cache.put(b"a" * 290, owner=ANN)

    kept = {one.split("/")[0] for one in home.kept()}
    mallorys = {one.split("/")[1] for one in home.kept() if one.startswith("p_mallory")}
    assert {"p_bob", "p_ann"} <= kept
    assert "m_11" in mallorys
    assert "m_8" not in mallorys


@pytest.mark.req("W17", "A28")
async def test_the_last_tenth_is_for_people_below_their_share(tmp_path: Path) -> None:
    mine = tuple(f"m_{number}" for number in range(9))
    home = Home(tmp_path, needed=mine, cache_bytes=1_000, share_bytes=300)
    for name in mine[:4]:
        await home.media_cache.put(name.encode() * 60, owner=MediaOwner("p_mallory", name))
    with pytest.raises(BadRequest, match="no room"):
        await home.media_cache.put(b"too much" * 30, owner=MediaOwner("p_mallory", "m_8"))

    await home.media_cache.put(bytes(250), owner=MediaOwner("p_bob", "m_7"))

    assert "p_bob" in {one.split("/")[0] for one in home.kept()}


@pytest.mark.req("W17")
async def test_nothing_is_taken_beyond_what_fits_while_all_is_needed(tmp_path: Path) -> None:
    home = Home(tmp_path, needed=("m_1",), cache_bytes=1_000)
    await home.media_cache.put(bytes(900), owner=ANN)
    with pytest.raises(BadRequest, match="no room"):
        await home.media_cache.put(bytes(900), owner=BOB)


@pytest.mark.req("W17")
async def test_half_a_file_of_a_dead_process_counts_and_goes(home: Home) -> None:
    left = home.media / "p_ann" / "m_1" / ".d_1.part"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    await home.media_cache.tidy()
    assert home.kept() == set()


@pytest.mark.req("W20", "W34")
async def test_a_link_is_read_from_the_hosts_of_the_list_alone(home: Home) -> None:
    link = Media("image/png", url="https://evil.test/a.png?d=secret", name="a.png")

    with pytest.raises(Forbidden, match=r"evil\.test is not a host that may be called"):
        await home.media_cache.read(link, limit=1000)


@pytest.mark.req("W20", "W34")
async def test_a_link_whose_host_cannot_be_decoded_is_refused(tmp_path: Path) -> None:
    rules = CacheRules(link_hosts=("*.cdn.example",))
    media_cache = MediaCache(tmp_path / "media", HttpClient(HttpSettings()), rules=rules)
    link = Media("image/png", url="https://xn--a.cdn.example/a.png", name="a.png")

    with pytest.raises(Forbidden, match="its address is not fetched"):
        await media_cache.read(link, limit=1000)


@pytest.mark.req("W17", "A28")
async def test_who_has_exactly_their_share_may_use_the_last_tenth(tmp_path: Path) -> None:
    mine = tuple(f"m_{number}" for number in range(4))
    home = Home(tmp_path, needed=mine, cache_bytes=1_000, share_bytes=300)
    for name in mine[:3]:
        await home.media_cache.put(name.encode() * 73, owner=MediaOwner("p_mallory", name))

    await home.media_cache.put(bytes(300), owner=MediaOwner("p_bob", "m_3"))

    assert "p_bob" in {one.split("/")[0] for one in home.kept()}


def moved(home: Home, to: Path) -> Home:
    """Return the home as it is after it was restored elsewhere; the old one is gone."""
    to.mkdir()
    shutil.move(home.path, to / "home")
    return Home(to)


@pytest.mark.req("W17")
async def test_files_are_found_again_in_a_home_at_another_path(home: Home, tmp_path: Path) -> None:
    kept = await home.media_cache.put(png(), owner=ANN)
    arrived = await home.media_cache.keep(png(more=b"2"), mime="image/png")

    there = moved(home, tmp_path / "there")
    brought = (await there.desk.bring(arrived, platform="push", owner=BOB)).media

    assert not Path(kept.path or "/").is_absolute()
    assert await there.media_cache.read(kept, limit=1_000) == png()
    assert held(there, brought) == png(more=b"2")
    assert shown(there, kept) == png()


@pytest.mark.req("W17")
async def test_whole_paths_of_older_messages_are_read_here_and_elsewhere(
    home: Home, tmp_path: Path
) -> None:
    kept = as_it_was(home, await home.media_cache.put(png(), owner=ANN))
    arrived = as_it_was(home, await home.media_cache.keep(png(more=b"2"), mime="image/png"))
    assert await home.media_cache.read(kept, limit=1_000) == png()

    there = moved(home, tmp_path / "there")
    brought = (await there.desk.bring(arrived, platform="push", owner=BOB)).media

    assert await there.media_cache.read(kept, limit=1_000) == png()
    assert brought.path == str(Path(brought.path or "/").relative_to("."))
    assert held(there, brought) == png(more=b"2")
    assert shown(there, kept) == png()


@pytest.mark.req("W17")
async def test_a_path_that_leads_out_of_the_folder_finds_nothing(home: Home) -> None:
    await home.media_cache.put(png(), owner=ANN)
    secret = home.path / "media.key"
    secret.write_bytes(b"SECRET")
    for place in ("../media.key", "p_ann/../../media.key", "/other/media/../media.key"):
        media = Media("image/png", path=place)
        with pytest.raises((Forbidden, NotFound)):
            await home.media_cache.read(media, limit=1_000)
        assert shown(home, media) is None


@pytest.mark.req("W20")
async def test_a_place_inside_the_cache_is_lent_to_its_own_person_alone(home: Home) -> None:
    kept = await home.media_cache.put(png(), owner=ANN)
    await home.media_cache.put(png(), owner=BOB)
    whole = as_it_was(home, kept)
    for place in (kept.path, whole.path, f"p_bob/../{kept.path}"):
        assert place is not None
        lent = await home.desk.lend(place, owner=ANN)
        assert held(home, lent) == png()
        with pytest.raises(Forbidden):
            await home.desk.lend(place, owner=BOB)


def shown(home: Home, media: Media) -> bytes | None:
    """Return the bytes of a picture as programs open it that are given a path."""
    file = Path(home.desk.located(ImagePart(media)).media.path or "")
    return file.read_bytes() if file.exists() else None


def as_it_was(home: Home, media: Media) -> Media:
    """Return an attachment as older versions kept it, with the whole path."""
    return msgspec.structs.replace(media, path=str(home.media / (media.path or "")))
