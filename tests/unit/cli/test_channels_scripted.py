"""`hermes channels add` ends well for every platform that comes along, told all by a script."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from hermes.channels.webhook.settings import Route
from hermes.cli.channels_sheet import ChannelSheet
from hermes.config import load
from hermes.config.platform_files import platform_variable
from tests.unit.cli.adding import manifest_of, near, places, written
from tests.unit.cli.conftest import Hermes


@pytest.mark.req("W12", "W7")
@pytest.mark.parametrize(
    ("told", "way"),
    [
        ("discord", "environment"),
        ("email", "environment"),
        ("irc", "environment"),
        ("matrix", "environment"),
        ("qq", "environment"),
        ("slack", "options"),
        ("telegram", "options"),
        ("webhook", "environment"),
        ("webhook", "options"),
    ],
    indirect=["told"],
)
def test_a_script_gets_there_without_a_question(
    hermes: Hermes, home: Path, told: dict[str, Any], way: str
) -> None:
    name, settings = told["name"], places(told["settings"])
    if way == "options":
        options = [f"--set={'.'.join(place)}={text}" for place, text in settings.items()]
        variables: dict[str, str] = {}
    else:
        options = []
        variables = {platform_variable(name, *place): text for place, text in settings.items()}

    done = hermes("channels", "add", name, "--json", *options, **variables, **near(home))

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["tested"]["problem"] is None
    assert report["made"] == {}
    # What the environment said is in the files, which need it no more.
    for environ in ({}, variables):
        kept = places(written(home, name, **environ))
        for place, text in settings.items():
            # A variable cannot spell `chat-1`, and nothing else names the route.
            spelled = place if place in kept else tuple(one.replace("-", "_") for one in place)
            assert kept[spelled] in (text, f"{text}.0")


@pytest.mark.req("W12", "W7")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("webhook",), "routes is missing"),
        (("webhook", "routes=x"), "expected --set routes.NAME.FIELD=VALUE"),
        (("webhook", "routes.ci.secrt=x"), "the fields are scheme, secret"),
        (("webhook", "routes.C I.scheme=github"), "expected a name of small letters"),
        (("matrix", "homeserver=http://h"), "user_id is missing (as access_token is not"),
        (("irc", "server=h", "sasl_user=u"), "sasl_password is missing (as"),
        (("slack", "bot_token=x", "mode=http"), "signing_secret is missing (as"),
        (
            ("email", *(f"{one}=a@b.c" for one in ("address", "password", "imap_host", "smtp_host"))),
            "authserv_id is missing (as trust is authentication-results)",
        ),
    ],
)  # fmt: skip
def test_what_a_script_forgot_is_named(home: Path, arguments: tuple[str, ...], said: str) -> None:
    name, *options = arguments
    given = dict(option.split("=", 1) for option in options)
    with pytest.raises(typer.BadParameter) as failed:
        ChannelSheet(manifest_of(name), load({}, home), given=given).complete()
    assert said in failed.value.message


@pytest.mark.req("W12")
def test_a_secret_is_made_up_and_shown_once(hermes: Hermes, home: Path) -> None:
    options = ("--set=routes.ci.scheme=github", "--set=routes.ci.events=push, ping")
    done = hermes("channels", "add", "webhook", *options)
    assert done.returncode == 0, done.stderr
    route = written(home, "webhook")["routes"]["ci"]
    assert route["secret"].startswith("whsec_")
    assert done.stdout.count(route["secret"]) == 1
    assert route["events"] == ["push", "ping"]

    again = hermes("channels", "add", "webhook", "--set=routes.ci.prompt={text}")
    assert again.returncode == 0, again.stderr
    assert written(home, "webhook")["routes"]["ci"] == {**route, "prompt": "{text}"}


@pytest.mark.req("W12")
def test_channel_keys_are_a_table_of_plain_values(hermes: Hermes, home: Path) -> None:
    options = ("--set=server=irc.example", "--set=channel_keys.#private=sesame")
    done = hermes("channels", "add", "irc", *options, "--no-test")
    assert done.returncode == 0, done.stderr
    assert written(home, "irc")["channel_keys"] == {"#private": "sesame"}


@pytest.mark.req("W12")
def test_the_manifest_knows_every_setting_of_a_route() -> None:
    entries = manifest_of("webhook").settings["routes"].entries
    assert set(entries) == set(Route.__struct_fields__)
    route = Route(secret="a secret of a machine")
    for name, entry in entries.items():
        assert entry.default in (None, "local", getattr(route, name))


@pytest.mark.req("W12")
def test_telegram_gets_a_secret_for_its_calls_only_where_it_calls(home: Path) -> None:
    given = {"bot_token": "1:abc", "mode": "webhook"}
    sheet = ChannelSheet(manifest_of("telegram"), load({}, home), given=given)
    sheet.complete()
    secret = sheet.secrets()[("webhook_secret",)]
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", secret)
    assert sheet.plain() == {("mode",): "webhook"}

    polling = ChannelSheet(manifest_of("telegram"), load({}, home), given={"bot_token": "1:abc"})
    polling.complete()
    assert polling.secrets() == {("bot_token",): "1:abc"}
    assert not polling.is_asked(("webhook_secret",))


@pytest.mark.req("W12")
def test_a_secret_that_the_file_would_hide_is_not_written_beside_it(home: Path) -> None:
    (home / "config.yaml").write_text("telegram: {bot_token: '1:old', mode: poll}\n")
    loaded = load({}, home)
    ChannelSheet(manifest_of("telegram"), loaded, given={"mode": "webhook"}).complete()
    with pytest.raises(
        typer.BadParameter, match=r"bot_token is set in config\.yaml, which overrides"
    ):
        ChannelSheet(manifest_of("telegram"), loaded, given={"bot_token": "1:new"}).complete()


@pytest.mark.req("W12")
def test_an_account_is_asked_for_all_of_its_own_and_named_in_every_error(home: Path) -> None:
    (home / "config.yaml").write_text("telegram: {bot_token: '1:old', mode: webhook}\n")
    loaded = load({}, home)
    given = {"bot_token": "2:new"}
    sheet = ChannelSheet(manifest_of("telegram"), loaded, given=given, channel="telegram/sales")

    sheet.complete()

    assert (sheet.secrets(), sheet.plain()) == ({("bot_token",): "2:new"}, {})
    empty = ChannelSheet(manifest_of("telegram"), loaded, given={}, channel="telegram/sales")
    variable = "HERMES_PLATFORMS__TELEGRAM__ACCOUNTS__SALES__EXTRA__BOT_TOKEN"
    with pytest.raises(typer.BadParameter, match=variable):
        empty.complete()
