"""A reply of too many messages becomes its first ones and a file; a stopped one gets no more messages."""

import pytest

from hermes.errors import BadRequest, DeliveryRejected, FailureClass, NotDelivered
from hermes.message.outcome import DeliveryState
from hermes.message.parts import ImagePart, Media, TextPart
from hermes.outbox.channel_calls import LongReplies
from hermes.outbox.intervals import PreviewTiming
from hermes.outbox.marks import IN_FILE, NOT_IN_FILE
from hermes.outbox.previewer import OutboxPreviewer
from hermes.ports.channel import Target
from hermes.ports.media import MediaOwner
from hermes.ports.outbox import NewDelivery
from hermes.ports.upward import Preview
from hermes.testing.manual_time import settle
from hermes.testing.setup_channel import MemoryFiles

TARGET = Target(platform="memory", account="a", chat_id="c1")
# With room for the mark of a possible repeat, 100 characters are left for each message.
CHARS = 120
WORDS = [f"word{number:04}" for number in range(100)]
LONG = " ".join(WORDS)
MOST = 3
HOUR = 3600.0
FILES = {"max_chars": CHARS, "media": ("image", "file"), "media_bytes": 10_000}
REFUSED = DeliveryRejected("no files here", FailureClass.REJECTED)
DOWN = NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)


@pytest.fixture
def bench(bench):
    bench.long = LongReplies(MOST, bench.files)
    return bench


def files(bench) -> list[Media]:
    return [file for post in bench.channel.posts.values() for file in post.files]


def contents(bench) -> list[str]:
    return [bench.files.kept[file.path or ""].decode() for file in files(bench)]


async def opened(bench) -> Preview:
    previewer = OutboxPreviewer(
        {"memory": bench.channel},
        bench.store,
        delivery_id=lambda message_id: f"d_{message_id}",
        timing=PreviewTiming(),
        clock=bench.time,
        sleep=bench.time.sleep,
        rates=bench.rates,
        screens=bench.screens,
        long=bench.long,
    )
    lease = bench.store.lease("lane")
    return await previewer.open(lease, target=TARGET, message_id="m1", person_id="p1")


async def streamed(bench, text: str) -> None:
    """Show a text as it grows, and commit it."""
    preview = await opened(bench)
    for end in range(50, len(text) + 50, 50):
        await preview.update(text[:end])
        await bench.time.pass_by(2.0)
    await preview.close()
    parts = (TextPart(text),)
    new = NewDelivery(id="d_m1", target=TARGET, parts=parts, state=DeliveryState.PENDING)
    bench.store.commit(new, message_id="m1")


@pytest.mark.req("A26")
async def test_a_reply_of_too_many_messages_becomes_its_first_ones_and_a_file(bench) -> None:
    bench.platform(**FILES)
    bench.reply("long", LONG)

    await bench.start()

    *first, last, file = bench.channel.texts("c1")
    assert (len(first), file) == (MOST - 1, "")
    assert last.endswith(f"\n\n{IN_FILE}")
    said = " ".join((*first, last.removesuffix(f"\n\n{IN_FILE}")))
    assert LONG.startswith(said)
    assert contents(bench) == [LONG]
    (media,) = files(bench)
    assert (media.mime, media.name, media.size) == ("text/markdown", "reply.md", len(LONG))
    assert bench.states("long") == ["sent"]


@pytest.mark.req("A26")
async def test_a_reply_of_as_many_messages_as_allowed_stays_as_it_is(bench) -> None:
    bench.platform(**FILES)
    words = " ".join(WORDS[:30])
    bench.reply("all", words)

    await bench.start()

    assert len(bench.channel.texts("c1")) == MOST
    assert " ".join(bench.channel.texts("c1")) == words
    assert files(bench) == []


@pytest.mark.req("A26")
@pytest.mark.parametrize("able", [{"media": ("image",)}, {"media_bytes": 100}, {"media": ()}])
async def test_where_no_such_file_is_taken_the_last_message_says_what_is_missing(
    bench, able
) -> None:
    bench.platform(**{**FILES, **able})
    bench.reply("long", LONG)

    await bench.start()

    texts = bench.channel.texts("c1")
    assert len(texts) == MOST
    assert texts[-1].endswith("more characters. Ask for the rest.)")
    assert bench.states("long") == ["sent"]


@pytest.mark.req("A26")
async def test_the_attachments_of_a_long_reply_follow_its_file(bench) -> None:
    bench.platform(**FILES)
    picture = ImagePart(Media("image/png", path="kept-0"))
    new = NewDelivery(
        id="long", target=TARGET, parts=(TextPart(LONG), picture), state=DeliveryState.PENDING
    )
    bench.store.commit(new, message_id="m_long")

    await bench.start()

    posts = list(bench.channel.posts.values())
    assert [len(post.files) for post in posts] == [0] * MOST + [1, 0]


@pytest.mark.req("A26", "J17")
@pytest.mark.parametrize("fault", ["refused", "retried"])
async def test_a_file_that_is_not_taken_at_once(bench, fault: str) -> None:
    channel = bench.platform(**FILES)
    channel.fail("send", *[None] * MOST, REFUSED if fault == "refused" else DOWN)
    bench.reply("long", LONG)

    await bench.start()
    await bench.time.pass_by(2.0)

    told = {"refused": (NOT_IN_FILE, []), "retried": ("", [LONG])}[fault]
    assert (bench.channel.texts("c1")[MOST:], contents(bench)) == ([told[0]], told[1])
    assert bench.states("long") == ["sent"]


@pytest.mark.req("J17", "J18")
@pytest.mark.parametrize("able", [{"key_window_s": HOUR}, {"history": True}])
@pytest.mark.parametrize("sent", range(MOST + 1))
async def test_a_crash_between_the_parts_and_the_file_repeats_and_loses_nothing(
    bench, able, sent: int
) -> None:
    channel = bench.platform(**FILES, **able)
    bench.reply("long", LONG)
    # The process dies while message number `sent` is on the wire.
    channel.stop_before("send", sent)
    await bench.start()

    channel.stop_before("send", None)
    await bench.crash()
    await bench.time.pass_by(10.0)

    assert len(channel.posts) == MOST + 1
    assert contents(bench) == [LONG]
    assert bench.states("long") == ["sent"]


@pytest.mark.req("W19", "J16")
async def test_a_preview_grows_no_further_than_the_reply(bench) -> None:
    bench.platform(edit=True, **FILES)
    await streamed(bench, LONG)
    shown = bench.channel.texts("c1")
    calls = len(bench.channel.calls)

    await bench.start()

    assert len(shown) == MOST
    assert shown[-1].endswith(IN_FILE)
    # The messages that showed it are those of the reply; only the file is sent behind them.
    assert bench.channel.texts("c1") == [*shown, ""]
    assert bench.channel.calls[calls:] == [("send", "c1")]
    assert contents(bench) == [LONG]


@pytest.mark.req("W19")
async def test_a_full_preview_makes_no_more_calls(bench) -> None:
    bench.platform(edit=True, **FILES)
    preview = await opened(bench)
    await preview.update(LONG)
    await bench.time.pass_by(20.0)
    calls = len(bench.channel.calls)

    for number in range(20):
        await preview.update(LONG + " more" * number)
        await bench.time.pass_by(2.0)

    assert bench.channel.calls[calls:] == []
    await preview.close()


@pytest.mark.req("A26")
@pytest.mark.parametrize("takes_files", [True, False])
@pytest.mark.parametrize("begun", [MOST - 1, MOST, MOST + 1, MOST + 2])
async def test_a_lowered_limit_does_not_lose_the_end_of_a_reply_that_was_begun(
    bench, begun: int, takes_files: bool
) -> None:
    channel = bench.platform(**(FILES if takes_files else {"max_chars": CHARS}))
    bench.long = LongReplies(0, bench.files)
    channel.stop_before("send", begun)
    bench.reply("long", LONG)
    await bench.start()

    channel.stop_before("send", None)
    bench.long = LongReplies(MOST, bench.files)
    await bench.crash()
    await bench.time.pass_by(10.0)

    said = " ".join(text.removeprefix("(possibly a repeat) ") for text in channel.texts("c1"))
    assert said == LONG
    assert bench.states("long") == ["sent"]


@pytest.mark.req("W18", "J18")
async def test_a_stopped_reply_gets_no_more_messages_and_the_next_one_is_sent(bench) -> None:
    channel = bench.platform(max_chars=CHARS, chat_gap_s=1.0)
    bench.reply("long", LONG)
    await bench.start()
    await bench.time.pass_by(1.0)
    sent = len(channel.posts)

    bench.store.stop("long", by="m_stop")
    bench.reply("next")
    await bench.time.pass_by(2.0)

    assert 0 < sent < MOST
    assert channel.texts("c1")[sent:] == ["next"]
    row = bench.row("long")
    assert (row.state, row.failure) == (DeliveryState.DEAD, "dropped")
    assert [(note.then, note.chunk) for note in row.story] == [("stopped", sent)]


@pytest.mark.req("W18", "J18")
async def test_a_message_that_is_on_the_wire_when_it_is_stopped_counts_as_sent(bench) -> None:
    channel = bench.platform(max_chars=CHARS)
    channel.hold("c1")
    bench.reply("long", LONG)
    await bench.start()

    bench.store.stop("long", by="m_stop")
    channel.let_go("c1")
    await settle()
    await bench.time.pass_by(2.0)

    assert len(channel.posts) == 1
    assert [(note.then, note.chunk) for note in bench.row("long").story] == [("stopped", 1)]


@pytest.mark.req("W18", "J17")
async def test_a_crash_after_the_stop_sends_nothing_more(bench) -> None:
    channel = bench.platform(max_chars=CHARS)
    channel.stop_before("send", 1)
    bench.reply("long", LONG)
    await bench.start()
    bench.store.stop("long", by="m_stop")

    channel.stop_before("send", None)
    await bench.crash()
    await bench.time.pass_by(10.0)

    assert len(channel.posts) == 1
    assert bench.row("long").failure == "dropped"


@pytest.mark.req("W18", "J17")
@pytest.mark.parametrize(
    ("abilities", "shown"),
    [
        ({}, ["short", "(possibly a repeat) short"]),
        ({"key_window_s": HOUR}, ["short"]),
        ({"history": True}, ["short"]),
    ],
)
async def test_a_first_message_in_doubt_ends_as_sent_although_the_reply_was_stopped(
    bench, abilities, shown
) -> None:
    channel = bench.platform(max_chars=CHARS, **abilities)
    channel.hold("c1")
    channel.lose_answers("send", 1)
    bench.reply("short")
    await bench.start()

    bench.store.stop("short", by="m_stop")
    channel.let_go("c1")
    await settle()
    await bench.time.pass_by(60.0)

    assert channel.texts("c1") == shown
    assert bench.states("short") == ["sent"]


@pytest.mark.req("W18", "J16")
async def test_the_previews_of_a_stopped_reply_get_their_last_text(bench) -> None:
    bench.platform(edit=True, max_chars=CHARS)
    text = " ".join(WORDS[:16])
    await streamed(bench, text)
    assert bench.channel.texts("c1")[-1].endswith("▉")

    bench.store.stop("d_m1", by="m_stop")
    await bench.start()

    assert " ".join(bench.channel.texts("c1")) == text
    assert bench.states("d_m1") == ["sent"]


@pytest.mark.req("W18")
async def test_a_reply_of_which_nothing_is_sent_is_not_stopped(bench) -> None:
    bench.platform(max_chars=CHARS)
    bench.reply("short")
    bench.store.stop("short", by="m_stop")

    await bench.start()

    assert bench.channel.texts("c1") == ["short"]


class CheckingFiles(MemoryFiles):
    """Refuses everything that it is asked to check."""

    async def put(
        self, data: bytes, *, owner: MediaOwner, name: str | None = None, is_checked: bool = True
    ) -> Media:
        if is_checked:
            raise BadRequest("it is a broken picture")
        return await super().put(data, owner=owner, name=name, is_checked=is_checked)


@pytest.mark.req("A26")
async def test_the_file_with_a_reply_is_not_checked_as_if_a_stranger_had_sent_it(bench) -> None:
    bench.files = CheckingFiles()
    bench.long = LongReplies(MOST, bench.files)
    bench.platform(**FILES)
    bench.reply("long", LONG)

    await bench.start()

    assert contents(bench) == [LONG]
