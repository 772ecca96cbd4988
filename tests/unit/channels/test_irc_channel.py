"""The IRC channel against its stand-in: sends that are known, nicks, kicks, floods, lost connections."""

import asyncio
import datetime as dt
import ipaddress
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from hermes.contrib.irc import intake
from hermes.contrib.irc.line_rate import LineRate
from hermes.errors import (
    ConfigurationError,
    ConnectFailed,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
    Overloaded,
    Skipped,
    StoreError,
    TlsFailed,
)
from hermes.ports.channel import (
    InformedChannel,
    ListingChannel,
    LiveChannel,
    MeasuringChannel,
    ProbingChannel,
    PushChannel,
    Target,
)
from hermes.testing.irc.server import ALL_CAPS, IrcStandIn
from hermes.testing.irc.state import Person
from hermes.testing.manual_time import ManualClock
from hermes.testing.stand_in import Fault, PersonMessage
from tests.unit.channels.irc_rig import irc_rig, until

LABELS = frozenset(ALL_CAPS)
ECHOES = ALL_CAPS - {"labeled-response", "batch"}
LAB: dict[str, Any] = {"chat": "lab", "chat_type": "channel"}


@pytest.mark.req("W10", "A2")
@pytest.mark.parametrize("caps", [LABELS, ECHOES, frozenset({"sasl"})])
@pytest.mark.quality("sends confirmed by the server")
async def test_messages_go_both_ways(tmp_path: Path, caps: frozenset[str]) -> None:
    async with irc_rig(tmp_path, IrcStandIn(caps=caps)) as rig:
        await rig.irc.say(PersonMessage(text="hello"))
        await rig.irc.say(PersonMessage(text="hi", mentions=True, **LAB))
        first, second = await rig.heard(2)
        receipt = await rig.channel.send(rig.delivery(first.source.chat_id, "**yes**"))
        await rig.channel.send(rig.delivery(second.source.chat_id, "one\ntwo"))

        assert rig.lines("Ada") == ["\x02yes"]
        assert rig.lines("#lab") == ["one", "two"]
        has_ids = {"message-tags", "echo-message"} <= caps
        assert receipt.platform_message_id.startswith("msg-" if has_ids else "irc_")
        assert rig.irc.rejections == ()


@pytest.mark.req("W10")
async def test_it_fits_the_ports_and_tells_of_its_chats(tmp_path: Path) -> None:
    async with irc_rig(tmp_path) as rig:
        ports = (PushChannel, LiveChannel, ProbingChannel, MeasuringChannel, ListingChannel, InformedChannel)  # fmt: skip
        assert all(isinstance(rig.channel, port) for port in ports)
        assert [entry.chat_id for entry in await rig.channel.directory()] == ["#chat-1", "#chat-2", "#group-1", "#lab"]  # fmt: skip
        info = await rig.channel.chat_info(Target(platform="irc", account="a", chat_id="#lab"))
        assert info.chat_type == "channel"
        await rig.channel.probe()


@pytest.mark.req("A26", "A28", "J17")
@pytest.mark.parametrize("caps", [LABELS, frozenset({"sasl"})])
async def test_what_is_known_of_a_send_that_failed(tmp_path: Path, caps: frozenset[str]) -> None:
    async with irc_rig(tmp_path, IrcStandIn(caps=caps), answer_s=1.0) as rig:
        with pytest.raises(DeliveryRejected) as nobody:
            await rig.channel.send(rig.delivery("nobody", "hi"))
        with pytest.raises(DeliveryRejected) as outside:
            await rig.channel.send(rig.delivery("#other", "hi"))
        rig.irc.plan(Fault(kind="rate_limited", retry_after=3))
        with pytest.raises(NotDelivered) as later:
            await rig.channel.send(rig.delivery("#lab", "hi"))
        rig.irc.plan(Fault(kind="rate_limited"))
        with pytest.raises(DeliveryUnknown, match="some of its lines"):
            await rig.channel.send(rig.delivery("#lab", "refused\narrived"))
        rig.irc.plan(Fault(kind="hang"))
        with pytest.raises(DeliveryUnknown, match="not answered"):
            await rig.channel.send(rig.delivery("#lab", "arrived, too"))

        assert nobody.value.failure is FailureClass.INVALID_RECIPIENT
        assert outside.value.failure is FailureClass.REJECTED
        assert later.value.retry_after == 3
        assert rig.lines("#lab") == ["arrived", "arrived, too"]


@pytest.mark.req("W10", "W19")
async def test_lines_are_as_long_as_the_prefix_leaves_room(tmp_path: Path) -> None:
    room = "#" + "x" * 62
    async with irc_rig(tmp_path, IrcStandIn(rooms=(room,)), nick="h" * 30) as rig:
        await rig.channel.send(rig.delivery(room, "y" * 900))
        assert [len(line) for line in rig.lines(room)] == [350, 350, 200]
        # The server gives the bot another host, and does not say which.
        (await rig.irc.bot()).numeric("396", "a.cloak", "is now your hidden host")
        await rig.channel.probe()
        await rig.channel.send(rig.delivery(room, "z" * 900))
        assert max(len(line) for line in rig.lines(room)[3:]) < 350


@pytest.mark.req("J17", "W2")
async def test_a_connection_that_is_lost_in_a_send(tmp_path: Path) -> None:
    async with irc_rig(tmp_path) as rig:
        rig.irc.plan(Fault(kind="reset_after"))
        with pytest.raises(DeliveryUnknown):
            await rig.channel.send(rig.delivery("#lab", "perhaps"))
        with pytest.raises(ConnectFailed):
            await rig.channel.lost()
        with pytest.raises(NotDelivered):
            await rig.channel.send(rig.delivery("#lab", "certainly not"))
        await rig.channel.disconnect()
        with pytest.raises(NotDelivered):
            await rig.channel.send(rig.delivery("#lab", "certainly not"))

        await rig.channel.connect(rig.inbox.accept)
        await rig.channel.send(rig.delivery("#lab", "again"))
        assert rig.lines("#lab") == ["perhaps", "again"]


@pytest.mark.req("W10")
@pytest.mark.quality("no command in a reply")
async def test_no_reply_can_give_the_server_a_command(tmp_path: Path) -> None:
    async with irc_rig(tmp_path) as rig:
        text = "/quit\n:x QUIT\r\nQUIT :bye\r\x00\x01DCC\x01\u2028KICK #lab ada"
        await rig.channel.send(rig.delivery("#lab", text))
        await rig.channel.probe()
        assert rig.lines("#lab")[:2] == ["/quit", ":x QUIT"]
        assert not any(char in line for line in rig.lines("#lab") for char in "\r\n\x00\x01")
        assert rig.irc.rejections == ()


@pytest.mark.req("W2")
@pytest.mark.quality("nick regained")
async def test_a_taken_nick_gets_a_sign_and_is_regained(tmp_path: Path) -> None:
    irc = IrcStandIn()
    irc.state.people["hermes"] = Person(nick="hermes")
    async with irc_rig(tmp_path, irc) as rig:
        assert rig.channel.nick == "hermes_"
        await rig.channel.probe()
        assert rig.channel.nick == "hermes_"
        await rig.irc.leave("hermes")
        await until(lambda: rig.channel.nick == "hermes")
        await rig.irc.say(PersonMessage(text="@hermes hi", **LAB))
        await rig.heard(1)
        assert rig.inbox.events[0].addressed


@pytest.mark.req("W2")
@pytest.mark.quality("rejoin after kick")
async def test_a_kick_is_followed_by_a_new_join_ever_later(tmp_path: Path) -> None:
    async with irc_rig(tmp_path) as rig:
        for _ in range(2):
            await rig.irc.kick("#lab")
            await rig.irc.bot("#lab")
        assert rig.naps == [5.0, 10.0]


@pytest.mark.req("W2")
async def test_keys_of_channels_and_refused_joins(tmp_path: Path) -> None:
    irc = IrcStandIn(rooms=("#open", "#closed", "#secret"))
    irc.state.rooms = {"#closed": "k1", "#secret": "k2"}
    async with irc_rig(tmp_path, irc, channel_keys={"#SECRET": "k2"}) as rig:
        assert [one.chat_id for one in await rig.channel.directory()] == ["#open", "#secret"]
        irc.state.rooms["#closed"] = ""
        await irc.bot("#closed")
        assert rig.naps[0] == 5.0


@pytest.mark.req("W30", "W11")
@pytest.mark.quality("accounts, not nicks")
async def test_a_reply_follows_the_person_and_not_the_nick(tmp_path: Path) -> None:
    async with irc_rig(tmp_path) as rig:
        await rig.irc.say(PersonMessage(text="hello"))
        (event,) = await rig.heard(1)
        assert event.source.chat_id == "account:user-1"
        await rig.irc.rename("Ada", "Countess")
        await rig.channel.probe()
        await rig.channel.send(rig.delivery(event.source.chat_id, "found you"))
        await rig.irc.leave("Countess")
        await rig.channel.probe()
        with pytest.raises(NotDelivered, match="signed in as user-1"):
            await rig.channel.send(rig.delivery(event.source.chat_id, "gone"))
        # Whoever takes the nick without the account gets nothing.
        rig.irc.state.people["countess"] = Person(nick="Countess")
        with pytest.raises(NotDelivered, match="signed in as user-1"):
            await rig.channel.send(rig.delivery(event.source.chat_id, "gone"))
        # After a restart the server is asked who that is.
        rig.irc.state.people["user-1"] = Person(nick="user-1", account="user-1")
        await rig.channel.send(rig.delivery(event.source.chat_id, "back"))
        assert (rig.lines("Countess"), rig.lines("user-1")) == (["found you"], ["back"])


@pytest.mark.req("W30", "W11")
@pytest.mark.parametrize("account", ["mallory", ""])
async def test_a_nick_that_was_not_heard_for_a_while_is_asked_about(
    tmp_path: Path, account: str
) -> None:
    async with irc_rig(tmp_path) as rig:
        await rig.irc.say(PersonMessage(text="hello"))
        (event,) = await rig.heard(1)
        rig.clock.advance(3600)
        # She has left where the bot does not see it, and somebody else has the nick.
        rig.irc.state.people["ada"] = Person(nick="Ada", account=account)
        with pytest.raises(NotDelivered, match="signed in as user-1"):
            await rig.channel.send(rig.delivery(event.source.chat_id, "secret"))
        assert rig.lines("Ada") == []


@pytest.mark.req("W30", "W11")
async def test_without_accounts_a_nick_that_changed_hands_gets_nothing(tmp_path: Path) -> None:
    async with irc_rig(tmp_path, IrcStandIn(is_plain=True)) as rig:
        await rig.irc.say(PersonMessage(text="hello"))
        (event,) = await rig.heard(1)
        chat = event.source.chat_id
        assert chat == "ada!~ada@people.hermes.test"
        await rig.irc.rename("Ada", "Countess")
        await rig.channel.probe()
        await rig.channel.send(rig.delivery(chat, "found you"))
        rig.irc.state.people["countess"] = Person(nick="Countess", host="elsewhere")
        rig.irc.links[0].send("Countess!~countess@elsewhere", "JOIN", "#lab")
        await rig.channel.probe()
        with pytest.raises(DeliveryRejected, match="belongs to somebody else now"):
            await rig.channel.send(rig.delivery(chat, "not you"))
        assert rig.lines("Countess") == ["found you"]


@pytest.mark.req("W2")
@pytest.mark.parametrize("is_plain", [True, False])
@pytest.mark.quality("wrong password is final")
async def test_a_wrong_password_is_final(tmp_path: Path, is_plain: bool) -> None:
    irc = IrcStandIn(is_plain=is_plain)
    irc.revoke()
    async with irc_rig(tmp_path, irc, connect=False) as rig:
        with pytest.raises(ConfigurationError, match="password") as raised:
            await rig.channel.connect(rig.inbox.accept)
    assert "not-a-real" not in str(raised.value)


@pytest.mark.req("W2")
async def test_nickserv_is_told_the_password_only_if_the_operator_says_so(tmp_path: Path) -> None:
    irc = IrcStandIn(caps=ALL_CAPS - {"sasl"})
    irc.state.people["nickserv"] = Person(nick="NickServ")
    async with irc_rig(tmp_path, irc, connect=False) as rig:
        with pytest.raises(ConfigurationError, match="set nickserv"):
            await rig.channel.connect(rig.inbox.accept)
        assert rig.lines("NickServ") == []
    async with irc_rig(tmp_path, irc, nickserv="NickServ") as rig:
        assert rig.lines("NickServ") == ["IDENTIFY hermes not-a-real-password"]


@pytest.mark.req("W2")
async def test_nobody_listens_or_nobody_proves_who_they_are(tmp_path: Path) -> None:
    file = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    async with irc_rig(tmp_path, IrcStandIn(tls=context), connect=False, tls=True) as rig:
        with pytest.raises(TlsFailed, match="has no valid certificate"):
            await rig.channel.connect(rig.inbox.accept)
    async with irc_rig(tmp_path, IrcStandIn(tls=context), tls=True, ca_file=str(file)) as rig:
        await rig.channel.send(rig.delivery("#lab", "behind a lock"))
        assert rig.lines("#lab") == ["behind a lock"]
    async with irc_rig(tmp_path, connect=False, tls=True, ca_file="/nowhere") as rig:
        with pytest.raises(ConfigurationError, match="ca_file"):
            await rig.channel.connect(rig.inbox.accept)
    async with irc_rig(tmp_path, connect=False) as rig:
        await rig.irc.stop()
        with pytest.raises(ConnectFailed, match="cannot be reached"):
            await rig.channel.connect(rig.inbox.accept)


@pytest.mark.req("A26", "W2")
@pytest.mark.quality("excess flood")
async def test_lines_leave_slowly_enough_and_a_flood_is_explained(tmp_path: Path) -> None:
    text = "\n".join(f"line {number}" for number in range(14))
    irc = IrcStandIn(is_limited=True, flood_gap_s=0.01)
    async with irc_rig(tmp_path, irc, burst=4, line_gap_s=0.02) as rig:
        await rig.channel.send(rig.delivery("#lab", text))
        assert rig.irc.rejections == ()
    irc = IrcStandIn(is_limited=True, flood_gap_s=60)
    async with irc_rig(tmp_path, irc, burst=100) as rig:
        with pytest.raises(DeliveryUnknown):
            await rig.channel.send(rig.delivery("#lab", text))
        with pytest.raises(ConnectFailed, match=r"Excess Flood.*raise line_gap_s"):
            await rig.channel.lost()


@pytest.mark.req("A26")
async def test_a_reply_that_would_leave_too_slowly_is_sent_later(tmp_path: Path) -> None:
    text = "\n".join(f"line {number}" for number in range(6))
    async with irc_rig(tmp_path, burst=6, line_gap_s=2) as rig:
        await rig.channel.send(rig.delivery("#lab", "hi"))
        with pytest.raises(NotDelivered) as raised:
            await rig.channel.send(rig.delivery("#lab", text))
        assert raised.value.failure is FailureClass.RATE_LIMITED
        assert raised.value.platform_wide
        assert rig.lines("#lab") == ["hi"]


@pytest.mark.req("A26")
def test_a_bucket_of_lines() -> None:
    clock = ManualClock()
    pace = LineRate(clock, burst=2, gap_s=3)
    assert [pace.try_take() for _ in range(3)] == [True, True, False]
    assert (pace.wait_s(), pace.time_for(2)) == (3, 6)
    clock.advance(3)
    assert [pace.try_take() for _ in range(2)] == [True, False]
    clock.advance(100)
    assert (pace.time_for(2), pace.time_for(3)) == (0, 3)


@pytest.mark.req("W2", "W11")
async def test_what_a_server_and_other_clients_ask_is_answered(tmp_path: Path) -> None:
    async with irc_rig(tmp_path) as rig:
        await rig.irc.ping()
        link = await rig.irc.bot()
        rig.irc.state.people["ada"] = Person(nick="Ada")
        for asked in ("\x01VERSION\x01", "\x01PING 1\x01", "\x01DCC CHAT chat 1 2\x01"):
            link.send("Ada!a@h", "PRIVMSG", "hermes", asked)
        await rig.channel.probe()
        await rig.channel.probe()
        answers = [one.text for one in rig.irc.state.written if one.command == "NOTICE"]
        assert [answer[:8] for answer in answers] == ["\x01VERSION"]
        assert link.pongs == ["irc.hermes.test"]
        assert rig.inbox.events == []


@pytest.mark.req("J1", "W11")
async def test_what_cannot_be_kept_now_is_kept_later_and_in_order(tmp_path: Path) -> None:
    async with irc_rig(tmp_path) as rig:
        rig.inbox.failures = [Overloaded("full", retry_after=2), StoreError("busy"), Skipped("no")]
        for text in ("skipped in the end", "second", "third"):
            await rig.irc.say(PersonMessage(text=text))
        await rig.heard(2)
        assert rig.inbox.texts == ["second", "third"]
        assert rig.naps[:2] == [2, 1.0]


@pytest.mark.req("J1", "W2", "W11")
async def test_while_too_much_waits_the_socket_is_not_read_and_afterwards_nothing_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MOST_WAITING", 5)
    texts = [f"line {number}" for number in range(20)]
    async with irc_rig(tmp_path, gather_s=0) as rig:
        rig.inbox.failures = [StoreError("disk I/O error") for _ in range(10_000)]
        link = await rig.irc.bot()
        for text in texts:
            link.send("Ada!a@h", "PRIVMSG", "hermes", text)
        link.send("irc.hermes.test", "PING", "behind them")
        await until(lambda: len(rig.naps) > 50)
        assert (rig.inbox.texts, link.pongs) == ([], [])

        rig.inbox.failures.clear()
        await rig.heard(len(texts))
        await until(lambda: link.pongs)
        assert (rig.inbox.texts, link.pongs) == (texts, ["behind them"])


@pytest.mark.req("W2", "W11")
async def test_what_was_heard_outlives_a_reconnect(tmp_path: Path) -> None:
    async with irc_rig(tmp_path) as rig:
        held = asyncio.Event()

        async def never(_event: object) -> None:
            held.set()
            await asyncio.Event().wait()

        await rig.channel.connect(never)  # type: ignore[arg-type]
        await rig.irc.say(PersonMessage(text="held"))
        await held.wait()
        await rig.channel.connect(rig.inbox.accept)
        await rig.heard(1)
        assert rig.inbox.texts == ["held"]


@pytest.mark.req("W10")
async def test_a_playback_without_names_is_not_answered(tmp_path: Path) -> None:
    async with irc_rig(tmp_path) as rig:
        link = await rig.irc.bot()
        link.send("bnc", "BATCH", "+p1", "chathistory", "#lab")
        link.send("Ada!a@h", "PRIVMSG", "hermes", "old", tags={"batch": "p1"})
        link.send(
            "Ada!a@h", "PRIVMSG", "hermes", "old, but named", tags={"batch": "p1", "msgid": "x"}
        )
        link.send("bnc", "BATCH", "-p1")
        link.send("Ada!a@h", "PRIVMSG", "hermes", "new")
        await rig.heard(2)
        assert rig.inbox.texts == ["old, but named", "new"]


@pytest.mark.req("W10")
async def test_answers_in_a_batch_belong_to_their_label(tmp_path: Path) -> None:
    async with irc_rig(tmp_path) as rig:
        rig.irc.plan(Fault(kind="hang"))
        sending = asyncio.create_task(rig.channel.send(rig.delivery("#lab", "hi")))
        await until(lambda: rig.lines("#lab"))
        link = await rig.irc.bot()
        link.send("s", "BATCH", "+b", "labeled-response", tags={"label": "h1"})
        link.send("s", "404", "hermes", "#lab", "no", tags={"batch": "b"})
        link.send("s", "BATCH", "-b")
        with pytest.raises(DeliveryRejected):
            await sending


def certificate(folder: Path) -> Path:
    """Write a certificate for 127.0.0.1 that nobody has signed, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "irc.hermes.test")])
    begin = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + dt.timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "server.pem"
    file.write_bytes(secret + made.public_bytes(pem))
    return file
