"""What a platform says later to have arrived, which nothing else could tell."""

import pytest
from structlog.testing import capture_logs

from hermes.errors import DeliveryUnknown, FailureClass
from hermes.outbox.marks import REPEAT_PREFIX
from hermes.outbox.returns import take_arrivals
from hermes.ports.channel import ArrivedDelivery
from hermes.testing.manual_time import settle

LOST = DeliveryUnknown("lost", FailureClass.NETWORK_TIMEOUT)


@pytest.mark.req("J17")
async def test_late_proof_settles_a_lost_answer_before_it_is_sent_again(bench) -> None:
    bench.reply("d1", "hello")
    bench.channel.lose_answers("send", 1)
    await bench.start()
    assert bench.row("d1").state == "unknown"
    arrived = take_arrivals("memory", bench.store, clock=bench.time)

    with capture_logs() as logs:
        for key in ("d1.0", "d1.0", "d9.0", "no key of ours", ""):
            await arrived(ArrivedDelivery(key=key, platform_message_id="x1"))
    for _ in range(4):
        await bench.time.pass_by(10.0)

    row = bench.row("d1")
    assert (row.state, row.platform_message_id) == ("sent", "x1")
    assert [note.then for note in row.story] == ["unknown", "arrived"]
    assert bench.channel.texts("c1") == ["hello"]
    assert [one["event"] for one in logs] == ["outbox.arrived"]


@pytest.mark.req("J17")
async def test_proof_that_comes_before_the_answer_leaves_one_message(bench) -> None:
    bench.platform(max_chars=40)
    bench.reply("d1", "one one one\n\ntwo two two")
    arrived = take_arrivals("memory", bench.store, clock=bench.time)
    bench.channel.hold("c1")
    await bench.start()

    await arrived(ArrivedDelivery(key="d1.0", platform_message_id="x1"))
    bench.channel.let_go("c1")
    await settle()

    assert bench.channel.texts("c1") == ["one one one", "two two two"]
    assert (bench.row("d1").state, bench.row("d1").platform_message_id) == ("sent", "x1")


@pytest.mark.req("J17")
async def test_proof_before_a_lost_answer_counts(bench) -> None:
    bench.reply("d1", "hello")
    arrived = take_arrivals("memory", bench.store, clock=bench.time)
    bench.channel.hold("c1")
    bench.channel.fail("send", LOST)
    await bench.start()

    await arrived(ArrivedDelivery(key="d1.0", platform_message_id="x1"))
    bench.channel.let_go("c1")
    for _ in range(4):
        await bench.time.pass_by(10.0)

    assert (bench.row("d1").state, bench.row("d1").story) == ("sent", ())
    assert bench.channel.calls == [("send", "c1")]


@pytest.mark.req("J17")
async def test_nothing_is_sent_again_while_the_platform_may_still_tell_that_it_arrived(
    bench,
) -> None:
    bench.platform(proof_s=300.0)
    for name in ("d1", "d2"):
        bench.reply(name, "hello", chat=name)
    bench.channel.lose_answers("send", 2)
    await bench.start()
    for _ in range(20):
        await bench.time.pass_by(10.0)
    waiting = [bench.row(name).state for name in ("d1", "d2")]

    arrived = take_arrivals("memory", bench.store, clock=bench.time)
    await arrived(ArrivedDelivery(key="d1.0", platform_message_id="x1"))
    for _ in range(20):
        await bench.time.pass_by(10.0)

    assert waiting == ["unknown", "unknown"]
    assert bench.channel.texts("d1") == ["hello"]
    assert bench.channel.texts("d2") == ["hello", f"{REPEAT_PREFIX}hello"]


@pytest.mark.req("J17")
async def test_the_next_process_waits_for_the_proof_as_well(bench) -> None:
    bench.platform(proof_s=300.0)
    bench.reply("d1", "hello")
    bench.channel.lose_answers("send", 1)
    await bench.start()

    await bench.crash()
    for _ in range(20):
        await bench.time.pass_by(10.0)
    waiting = bench.row("d1").state
    await take_arrivals("memory", bench.store, clock=bench.time)(
        ArrivedDelivery(key="d1.0", platform_message_id="x1")
    )
    for _ in range(20):
        await bench.time.pass_by(10.0)

    assert (waiting, bench.row("d1").state) == ("unknown", "sent")
    assert bench.channel.texts("c1") == ["hello"]
