"""How a reply is shown: by edits, as a draft or not at all; typing; fresh finals; who comes first."""

import asyncio

import pytest

from hermes.errors import DeliveryRejected, FailureClass, NotDelivered
from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.outbox.intervals import PreviewTiming
from hermes.outbox.preview import with_cursor
from hermes.outbox.previewer import OutboxPreviewer, draft_id
from hermes.ports.channel import Target
from hermes.ports.outbox import NewDelivery
from hermes.testing.manual_time import settle

DM = Target(platform="memory", account="a", chat_id="c1")
GROUP = Target(platform="memory", account="a", chat_id="c1", group=True)
ALL = {"edit": True, "draft": True}
FLOOD = NotDelivered("slow", FailureClass.RATE_LIMITED, retry_after=5.0)


def previewer(bench, wanted: str = "auto", *, channels=None) -> OutboxPreviewer:
    return OutboxPreviewer(
        {"memory": bench.channel} if channels is None else channels,
        bench.store,
        delivery_id=lambda message_id: f"d_{message_id}",
        timing=PreviewTiming(),
        clock=bench.time,
        sleep=bench.time.sleep,
        wanted=lambda _platform: wanted,  # type: ignore[arg-type, return-value]
        rates=bench.rates,
        screens=bench.screens,
    )


async def opened(bench, wanted: str = "auto", *, target: Target = DM):
    lease = bench.store.lease("lane")
    made = previewer(bench, wanted)
    return await made.open(lease, target=target, message_id="m1", person_id="p1")


def commit(bench, text: str) -> None:
    new = NewDelivery(id="d_m1", target=DM, parts=(TextPart(text),), state=DeliveryState.PENDING)
    bench.store.commit(new, message_id="m1")


def verbs(bench) -> list[str]:
    return [verb for verb, _ in bench.channel.calls]


@pytest.mark.req("W19")
@pytest.mark.parametrize(
    ("able", "wanted", "target", "used"),
    [
        (ALL, "auto", DM, ["draft"]),
        (ALL, "auto", GROUP, ["send"]),
        (ALL, "edit", DM, ["send"]),
        (ALL, "draft", GROUP, ["send"]),
        (ALL, "off", DM, []),
        ({"edit": True}, "auto", DM, ["send"]),
        ({"edit": True}, "draft", DM, ["send"]),
        ({}, "auto", DM, []),
        ({}, "edit", DM, []),
    ],
)
async def test_the_transport_is_what_is_wanted_and_can_be_done(
    bench, able, wanted: str, target: Target, used: list[str]
) -> None:
    bench.platform(**able)
    preview = await opened(bench, wanted, target=target)

    await preview.update("Hello")
    await settle()
    await preview.close()

    assert verbs(bench) == used
    assert previewer(bench, wanted).can_preview(target) is bool(used)


@pytest.mark.req("W19")
async def test_a_draft_grows_and_the_reply_is_an_ordinary_message(bench) -> None:
    channel = bench.platform(draft=True, edit=True)
    preview = await opened(bench)
    await preview.update("Hello")
    await settle()
    await preview.update("Hello, here is what I found out about it")
    await bench.time.pass_by(1.0)
    await preview.close()
    assert await bench.store.waiting() == 0

    commit(bench, "Hello, all of it.")
    await bench.start()

    assert channel.drafts == {
        ("c1", draft_id("d_m1")): ["Hello", "Hello, here is what I found out about it"]
    }
    assert channel.texts("c1") == ["Hello, all of it."]
    assert verbs(bench) == ["draft", "draft", "send"]


@pytest.mark.req("W19")
async def test_three_refusals_end_a_draft_and_not_the_turn(bench) -> None:
    channel = bench.platform(draft=True)
    channel.fail("draft", FLOOD, FLOOD, FLOOD)
    preview = await opened(bench)
    await preview.update("Hello")
    await bench.time.pass_by(60.0)
    await preview.update("Hello again, much longer than before")
    await bench.time.pass_by(60.0)
    await preview.close()

    assert verbs(bench) == ["draft"] * 3


@pytest.mark.req("W19", "J16")
async def test_after_a_minute_the_reply_is_sent_anew_and_its_preview_deleted(bench) -> None:
    channel = bench.platform(edit=True, delete=True)
    preview = await opened(bench)
    await preview.update("Hel")
    await bench.time.pass_by(60.0)
    await preview.close()
    commit(bench, "Hello.")

    await bench.start()

    assert list(channel.posts) == ["x2"]
    assert channel.texts("c1") == ["Hello."]
    assert (verbs(bench), bench.states("d_m1")) == (["send", "send", "delete"], ["sent"])


@pytest.mark.req("W19")
@pytest.mark.parametrize(("able", "seconds"), [({"delete": True}, 59.0), ({}, 600.0)])
async def test_a_young_preview_or_one_that_cannot_be_deleted_is_edited(
    bench, able, seconds: float
) -> None:
    channel = bench.platform(edit=True, **able)
    preview = await opened(bench)
    await preview.update("Hel")
    await bench.time.pass_by(seconds)
    await preview.close()
    commit(bench, "Hello.")

    await bench.start()

    assert list(channel.posts) == ["x1"]
    assert channel.texts("c1") == ["Hello."]


@pytest.mark.req("W19", "J16", "J17")
async def test_a_crash_after_the_fresh_send_deletes_the_preview_all_the_same(bench) -> None:
    channel = bench.platform(edit=True, delete=True, key_window_s=3600.0)
    preview = await opened(bench)
    await preview.update("Hel")
    await bench.time.pass_by(60.0)
    await preview.close()
    commit(bench, "Hello.")
    channel.hold("c1")
    await bench.start()

    await bench.crash()
    channel.let_go("c1")
    await bench.time.pass_by(5.0)

    assert (channel.texts("c1"), bench.states("d_m1")) == (["Hello."], ["sent"])


@pytest.mark.req("W19")
async def test_a_delete_that_fails_does_not_fail_the_reply(bench) -> None:
    channel = bench.platform(edit=True, delete=True)
    channel.fail("delete", DeliveryRejected("too old", FailureClass.REJECTED))
    preview = await opened(bench)
    await preview.update("Hel")
    await bench.time.pass_by(60.0)
    await preview.close()
    commit(bench, "Hello.")

    await bench.start()

    assert (channel.texts("c1"), bench.states("d_m1")) == (["Hel ▉", "Hello."], ["sent"])


@pytest.mark.req("W19", "A28")
async def test_previews_share_the_rate_and_replies_come_first(bench) -> None:
    channel = bench.platform(edit=True, per_second=1.0)
    await bench.start()
    await bench.time.pass_by(5.0)
    for number in range(4):
        bench.reply(f"r{number}", chat=f"other-{number}")
    await settle()
    preview = await opened(bench)
    await preview.update("Hello")

    await bench.time.pass_by(3.5)
    assert channel.texts("c1") == []
    assert sum(1 for verb in verbs(bench) if verb == "send") == 4
    await bench.time.pass_by(2.0)

    assert channel.texts("c1") == ["Hello ▉"]
    await preview.close()


@pytest.mark.req("W19", "A28")
async def test_edits_of_one_chat_keep_its_gap(bench) -> None:
    bench.platform(edit=True, chat_gap_s=3.0)
    preview = await opened(bench)
    text = "Hello"
    for _ in range(9):
        text += " and twenty-four characters more"
        await preview.update(text)
        await bench.time.pass_by(1.0)
    await preview.close()

    assert verbs(bench) == ["send", "edit", "edit"]


@pytest.mark.req("W19", "A28")
async def test_a_preview_that_is_told_to_slow_down_slows_the_replies_of_its_chat(bench) -> None:
    channel = bench.platform(edit=True)
    preview = await opened(bench)
    await preview.update("Hello")
    await settle()
    channel.fail("edit", FLOOD)
    await preview.update("Hello, and a good deal more than before")
    await bench.time.pass_by(1.0)
    await preview.close()
    commit(bench, "Hello.")
    await bench.start()
    assert channel.texts("c1") == ["Hello ▉"]

    await bench.time.pass_by(5.0)

    assert channel.texts("c1") == ["Hello."]


@pytest.mark.req("W10")
async def test_typing_is_shown_until_the_turn_ends(bench) -> None:
    bench.platform(typing=True)

    async with previewer(bench).working(DM):
        await bench.time.pass_by(10.0)
    await bench.time.pass_by(30.0)

    assert verbs(bench) == ["typing"] * 3


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (DeliveryRejected("no", FailureClass.REJECTED), 1),
        (NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE), 3),
        (FLOOD, 2),
    ],
)
async def test_typing_that_fails_never_fails_a_turn(bench, error, shown: int) -> None:
    channel = bench.platform(typing=True)
    channel.fail("typing", error)

    async with previewer(bench).working(DM):
        await bench.time.pass_by(10.0)

    assert verbs(bench) == ["typing"] * shown


@pytest.mark.req("W10")
async def test_a_platform_that_cannot_shows_no_typing(bench) -> None:
    async with previewer(bench).working(DM):
        await bench.time.pass_by(10.0)

    assert verbs(bench) == []


@pytest.mark.req("W10")
async def test_a_channel_that_connects_again_is_the_one_that_is_called(bench) -> None:
    channels = {"memory": bench.platform(typing=True)}
    shown = previewer(bench, channels=channels)
    async with shown.working(DM):
        await bench.time.pass_by(1.0)
    before, channels["memory"] = bench.channel, bench.platform(typing=True)

    async with shown.working(DM):
        await bench.time.pass_by(1.0)

    assert [verb for verb, _ in before.calls] == verbs(bench) == ["typing"]


@pytest.mark.req("W10")
async def test_a_turn_that_ends_while_typing_hangs_does_not_wait_for_it(bench) -> None:
    channel = bench.platform(typing=True)
    channel.hold("c1")
    async with asyncio.timeout(30), previewer(bench).working(DM):
        await bench.time.pass_by(1.0)

    assert verbs(bench) == ["typing"]


@pytest.mark.req("W10")
async def test_an_answer_that_comes_at_once_shows_no_typing(bench) -> None:
    bench.platform(typing=True)
    async with previewer(bench).working(DM):
        await bench.time.pass_by(0.5)
    await bench.time.pass_by(10.0)

    assert verbs(bench) == []


@pytest.mark.req("W19")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello", "Hello|"),
        ("```\nx", "```\nx|\n```"),
        ("```python", "```python\n|\n```"),
        ("```\nx\n```", "```\nx\n```\n|"),
        ("```\nx\n```\nand", "```\nx\n```\nand|"),
        ("```x``` is code", "```x``` is code|"),
        ("~~~\n```\nx", "~~~\n```\nx|\n~~~"),
        ("````\n```\nx", "````\n```\nx|\n````"),
        ("a `b` c", "a `b` c|"),
    ],
)
def test_the_cursor_stands_inside_an_open_code_block(text: str, shown: str) -> None:
    assert with_cursor(text, "|") == shown
