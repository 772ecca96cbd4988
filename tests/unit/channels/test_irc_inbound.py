"""Lines of IRC as events: names, people, mentions, and that no bytes break it."""

import base64

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.contrib.irc.inbound import IrcIdentity, message_event
from hermes.contrib.irc.roster import NickRoster
from hermes.contrib.irc.settings import IrcSettings, read
from hermes.contrib.irc.sign_in import IrcSignIn
from hermes.contrib.irc.wire import IrcLine, fold, read_line, write_line
from hermes.errors import ConfigurationError, ConnectFailed
from hermes.message.event import MessageEvent
from hermes.plugins.manifest import load_manifest, read_settings

NOW = 1_700_000_000.0
ME = IrcIdentity(nick="hermes_", names=("hermes_", "hermes"), connection="c1", since=NOW, network="Net", statuses="@+")  # fmt: skip
ADA = ":Ada!~ada@host.example"


def heard(raw: str | bytes, me: IrcIdentity = ME, *, roster: NickRoster | None = None, number: int = 1) -> MessageEvent | None:  # fmt: skip
    line = read_line(raw.encode() if isinstance(raw, str) else raw)
    assert line is not None
    roster = roster or NickRoster()
    roster.saw(line)
    return message_event(line, me, roster=roster, number=number, now=NOW)


def event(raw: str | bytes, me: IrcIdentity = ME, **more: object) -> MessageEvent:
    found = heard(raw, me, **more)  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.req("A2", "W11")
def test_a_message_in_a_channel() -> None:
    found = event(
        f"@time=2023-11-14T22:13:20.500Z;msgid=m1;account=ada {ADA} PRIVMSG #Lab[1] :hermes: hi\r\n"
    )
    source = found.source
    assert (found.external_id, found.text, found.addressed) == ("m1", "hi", True)
    assert (source.chat_id, source.chat_type) == ("#lab{1}", "channel")
    assert (source.user_id, source.user_name) == ("ada", "Ada")
    assert (source.user_id_alt, source.guild_id) == ("Ada!~ada@host.example", "Net")
    assert found.at == NOW + 0.5


@pytest.mark.req("W11", "W30")
def test_a_private_message_names_the_person_and_not_only_the_nick() -> None:
    signed_in = event(f"@account=ada {ADA} PRIVMSG hermes_ :hi")
    stranger = event(f"{ADA} PRIVMSG HERMES_ :hi")
    other = event(":Ada!~x@elsewhere PRIVMSG hermes_ :hi")
    by_nick = event(f"{ADA} PRIVMSG hermes_ :hi", roster=NickRoster("nick"))

    assert (signed_in.source.chat_type, signed_in.addressed) == ("dm", True)
    assert (signed_in.source.user_id, signed_in.source.chat_id) == ("ada", "account:ada")
    assert stranger.source.user_id == stranger.source.chat_id == "ada!~ada@host.example"
    assert other.source.chat_id != stranger.source.chat_id
    assert (by_nick.source.user_id, by_nick.source.chat_id) == ("ada", "ada")


@pytest.mark.req("W30")
def test_nobody_without_an_account_is_taken_for_somebody_with_one() -> None:
    for account in ("*", "0", "", "x!y"):
        found = event(f"@account={account} :ada!~a@h PRIVMSG hermes_ :hi")
        assert "!" in found.source.user_id
    roster = NickRoster()
    roster.account("ada", "x!y")
    assert "~a" in event(":ada!~a@h PRIVMSG hermes_ :hi", roster=roster).source.user_id
    event("@account=ada :ada!~a@h PRIVMSG hermes_ :hi", roster=roster)
    # She may have left where the bot does not see it, and the nick is somebody else's now.
    taken = event(":ada!~a@h PRIVMSG hermes_ :hi", roster=roster)
    assert (taken.source.user_id, taken.source.chat_id) == ("ada!~a@h", "ada!~a@h")


@pytest.mark.req("W11", "W30")
@pytest.mark.parametrize(
    ("said", "text", "addressed"),
    [
        ("hermes: do it", "do it", True),
        ("Hermes_, do it", "do it", True),
        ("@hermes do it", "do it", True),
        ("hermes: /help", "/help", True),
        ("please @hermes do it", "please do it", True),
        ("is hermes here?", "is hermes here?", False),
        ("hermes2: do it", "hermes2: do it", False),
        ("@hermes-bot do it", "@hermes-bot do it", False),
        ("mail me@hermes", "mail me@hermes", False),
        ("\x0304,01red\x03 \x02bold\x0f", "red bold", False),
        ("\x01ACTION waves\x01", "* Ada waves", False),
        ("\x01ACTION waves at @hermes\x01", "* Ada waves at", True),
    ],
)
def test_what_names_the_bot(said: str, text: str, addressed: bool) -> None:
    found = event(f"{ADA} PRIVMSG #lab :{said}")
    assert (found.text, found.addressed) == (text, addressed)


@pytest.mark.req("W11")
@pytest.mark.parametrize(
    "raw",
    [
        f"{ADA} NOTICE hermes_ :an automatic answer",
        ":hermes_!~h@h PRIVMSG #lab :its own echo",
        f"{ADA} PRIVMSG hermes_ :\x01VERSION\x01",
        f"{ADA} PRIVMSG hermes_ :\x01DCC SEND x 1 2 3\x01",
        f"{ADA} PRIVMSG hermes_ :\x01",
        f"{ADA} PRIVMSG bob :not for the bot",
        f"{ADA} PRIVMSG $* :to everybody",
        f"{ADA} PRIVMSG #lab :hermes:",
        f"{ADA} PRIVMSG #lab",
        ":irc.example.org PRIVMSG hermes_ :the server itself",
        f"{ADA} JOIN #lab",
        "@time=2023-11-14T22:00:00Z :Ada!a@h PRIVMSG hermes_ :played back by a bouncer",
    ],
)
def test_what_is_no_event(raw: str) -> None:
    assert heard(raw) is None


@pytest.mark.req("J1")
def test_a_message_without_an_id_has_a_name_of_its_own() -> None:
    same = f"{ADA} PRIVMSG hermes_ :again"
    names = {event(same, number=number).external_id for number in (1, 2)}
    other = msgspec.structs.replace(ME, connection="c2")
    assert len({*names, event(same, other).external_id}) == 3


@pytest.mark.req("W11")
def test_bots_are_marked_statuses_are_channels_and_old_clients_are_read() -> None:
    assert event(f"@bot {ADA} PRIVMSG #lab :hi").source.is_bot
    assert event(f"{ADA} PRIVMSG @#lab :ops only").source.chat_id == "#lab"
    assert event(b":Ada!a@h PRIVMSG hermes_ :gr\xfc\xdfe\r\n").text == "grüße"
    assert event(f"{ADA} PRIVMSG hermes_ :/help").type == "command"


@pytest.mark.req("A2")
@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b":a!b@c PRIVMSG #x :", b"@time=", b"@msgid=a;time=2023;account=", b":a!b@c PRIVMSG hermes_ :\x01ACTION "]))  # fmt: skip
def test_no_bytes_break_it(tail: bytes, head: bytes) -> None:
    line = read_line(head + tail)
    if line is None:
        return
    roster = NickRoster()
    roster.saw(line)
    roster.renamed(line)
    found = message_event(line, ME, roster=roster, number=1, now=NOW)
    if found is not None:
        assert msgspec.json.decode(msgspec.json.encode(found), type=MessageEvent) == found


@pytest.mark.req("A2")
@pytest.mark.parametrize("tag", ["time=9999999999999-01-01T00:00:00Z", "time=2023-11-14T22:00:00", "time=x", "msgid=" + "m" * 500])  # fmt: skip
def test_tags_that_mean_nothing_are_left_alone(tag: str) -> None:
    found = event(f"@{tag};msgid2=x {ADA} PRIVMSG hermes_ :hi")
    assert len(found.external_id) == 40


@pytest.mark.req("A2")
def test_lines_are_read_and_written() -> None:
    line = read_line(b"@a=1\\:\\s\\\\;b :n!u@h  005  me X=1   :last one\r\n")
    assert line == IrcLine(command="005", params=("me", "X=1", "last one"), prefix="n!u@h", tags={"a": "1; \\", "b": ""})  # fmt: skip
    assert read_line(b"") is None
    assert read_line(b":only.a.prefix") is None
    assert read_line(b"PING :") == IrcLine(command="PING", params=("",))
    assert fold("A[]\\~") == "a{}|^"
    assert fold("A[]", "ascii") == "a[]"
    assert write_line("PRIVMSG", "#x", "a\r\nQUIT\0 :b") == b"PRIVMSG #x :aQUIT :b\r\n"
    assert write_line("PRIVMSG", "#x", "hi", label="h1") == b"@label=h1 PRIVMSG #x :hi\r\n"
    with pytest.raises(ValueError, match="only the last parameter"):
        write_line("PRIVMSG", "#x y", "hi")


def settings_of(**more: object) -> IrcSettings:
    manifest = load_manifest("hermes.contrib.irc")
    return read(read_settings(manifest, {"server": "irc.example.org", "nick": "hermes", **more}))


@pytest.mark.req("W2")
def test_settings_decide_for_tls_and_refuse_what_is_wrong() -> None:
    assert (settings_of().tls, settings_of().port) == (True, 6697)
    assert (settings_of(tls=False).tls, settings_of(tls=False).port) == (False, 6667)
    assert not settings_of(server="127.0.0.1").tls
    assert not settings_of(server="localhost").tls
    assert settings_of(server="::1", tls=True).tls
    for wrong in (
        {"server": "irc://x"},
        {"server": ""},
        {"nick": "1x"},
        {"nick": "a b"},
        {"channels": ["lab"]},
        {"channels": ["#a,#b"]},
        {"sasl_user": "x"},
        {"nickserv": "NickServ"},
        {"port": 0},
        {"line_gap_s": 9},
        {"channel_keys": {"#a": "k,l"}},
        {"realname": "a\r\nQUIT"},
        {"server_password": "a\r\nQUIT"},
    ):
        with pytest.raises(ConfigurationError, match=r"platforms\.irc"):
            settings_of(**wrong)
    assert "hidden" not in repr(settings_of(sasl_user="x", sasl_password="hidden"))


@pytest.mark.req("W2")
def test_signing_in_in_long_chunks_and_by_what_is_offered() -> None:
    sign_in = IrcSignIn(settings_of(sasl_user="x", sasl_password="p" * 400))
    assert sign_in.begin()[0] == b"CAP LS :302\r\n"
    assert take(sign_in, ":s CAP * LS * :echo-message unknown/cap") == []
    assert take(sign_in, ":s CAP * LS :sasl=EXTERNAL,PLAIN") == [b"CAP REQ :echo-message sasl\r\n"]
    assert take(sign_in, ":s CAP * ACK :echo-message sasl") == [b"AUTHENTICATE :PLAIN\r\n"]
    chunks = [line.decode().split(":")[1].strip() for line in take(sign_in, "AUTHENTICATE +")]
    assert [len(chunk) for chunk in chunks] == [400, 140]
    assert base64.b64decode("".join(chunks)) == b"x\0x\0" + b"p" * 400
    assert take(sign_in, ":s 903 * :ok") == [b"CAP :END\r\n"]
    assert take(sign_in, ":s 433 * hermes :taken") == [b"NICK :hermes_\r\n"]
    assert take(sign_in, ":s 433 * hermes_ :taken") == [b"NICK :hermes__\r\n"]
    take(sign_in, ":s 001 hermes__ :Welcome")
    take(sign_in, ":s 376 hermes__ :End")
    assert (sign_in.is_done, sign_in.nick) == (True, "hermes__")


@pytest.mark.req("W2")
def test_a_secret_that_fills_its_chunks_is_ended() -> None:
    sign_in = IrcSignIn(settings_of(sasl_user="x", sasl_password="p" * 296))
    assert [len(line) for line in take(sign_in, "AUTHENTICATE +")] == [416, 17]


@pytest.mark.req("W2")
@pytest.mark.parametrize(
    ("line", "error", "told"),
    [
        (":s 904 * :no", ConfigurationError, "sasl_password"),
        (":s 464 * :no", ConfigurationError, "server_password"),
        (":s 465 * :no", ConfigurationError, "banned"),
        (":s 432 * x :no", ConfigurationError, "nick"),
        (":s 422 * :no", ConfigurationError, "has no SASL"),
        ("ERROR :throttled", ConnectFailed, "throttled"),
    ],
)
def test_what_ends_the_signing_in(line: str, error: type[Exception], told: str) -> None:
    sign_in = IrcSignIn(settings_of(sasl_user="x", sasl_password="hidden"))
    with pytest.raises(error, match=told) as raised:
        take(sign_in, line)
    assert "hidden" not in str(raised.value)


def take(sign_in: IrcSignIn, raw: str) -> list[bytes]:
    line = read_line(raw.encode())
    assert line is not None
    return sign_in.take(line)
