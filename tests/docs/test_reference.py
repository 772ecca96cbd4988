"""Everything that can be met has its place in the pages: commands, settings, errors, endpoints."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import aiohttp
import pytest
import yaml
from starlette.routing import Route

import hermes
from hermes.channels.rest.channel import RestChannel, RestSettings
from hermes.channels.web.channel import WebChannel, WebSettings
from hermes.cli.commands import CommandGroup, root
from hermes.config import load
from hermes.config.keys import dotted, known_keys, node_at
from hermes.config.reference import ten_settings
from hermes.control.orders import ORDERS
from hermes.errors import HermesError
from hermes.http.errors import status_of
from hermes.http.same_origin import Origins
from hermes.message.ids import make_id
from hermes.plugins.manifest import load_capabilities
from hermes.ports.clock import SystemClock
from hermes.testing.gateway_api import MemoryGatewayApi, Script
from tests.docs.markdown import ROOT, headings_of, sections_of
from tests.system.twin_gateway import Gateway, Options, running_gateway

DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "hermes"
# An own method that no path knows makes every endpoint say which ones it does know.
ODD_METHOD = "PURGE"


# Any: the tree of commands is made of click's classes, which typer keeps to itself.
def commands(command: Any, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every command with its options and arguments, as `--help` names them."""
    names = [name for param in command.params for name in (*param.opts, *param.secondary_opts)]
    shown = [name if name.startswith("-") else name.upper() for name in names]
    yield path, [*shown, "--help", "-h"]
    if isinstance(command, CommandGroup):
        for name in command.list_commands(None):
            yield from commands(command.get_command(None, name), f"{path} {name}")


COMMANDS = dict(commands(root(), "hermes"))


@pytest.mark.req("W1")
def test_the_page_of_commands_has_a_heading_for_each_and_no_other() -> None:
    headings = [heading for heading in headings_of(DOCS / "cli.md") if heading != "Commands"]

    assert sorted(headings) == sorted(COMMANDS)


@pytest.mark.req("W1")
@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_of_a_command_is_explained_below_its_heading(path: str) -> None:
    section = sections_of(DOCS / "cli.md")[path]
    names = {"NAME": "ID"}

    wanted = [names.get(name, name) for name in COMMANDS[path]]

    assert [name for name in wanted if not re.search(rf"`{re.escape(name)}[` ]", section)] == []


@pytest.mark.req("W1")
def test_every_setting_has_a_heading() -> None:
    nodes = {key: node_at(key) for key in known_keys()}
    single = [dotted(key) for key, node in nodes.items() if node and (node.is_leaf or node.is_free)]

    missing = set(single) - set(sections_of(DOCS / "settings.md"))

    assert single
    assert missing == set()


def test_ten_settings_come_first_and_their_examples_work_together(tmp_path: Path) -> None:
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    ten = ten_settings()
    merged: dict[str, Any] = {}
    for entry in ten.values():
        merged |= yaml.safe_load(entry["example"])
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(merged), encoding="utf-8")

    loaded = load({"ANTHROPIC_API_KEY": "k", "TELEGRAM_BOT_TOKEN": "123456:a"}, tmp_path)

    first = page.partition("## General")[0]
    origins = {
        re.sub(r"^(\w+)\.(house|main|telegram)\.", r"\1.<name>.", key): origin
        for key, origin in loaded.origins.items()
    }
    origins |= {
        key.replace("platforms.telegram", "platforms.<name>"): origin
        for key, origin in loaded.origins.items()
    }
    assert len(ten) == 10
    assert [key for key, entry in ten.items() if entry["example"].strip() not in first] == []
    assert {key: origins[key] for key in ten} == dict.fromkeys(ten, "config.yaml")


_CHANNELS = ("hermes.channels.", "hermes.contrib.")


def error_classes() -> dict[str, type[HermesError]]:
    """Return every public error of the shipped package by its name."""
    for module in walk_packages(hermes.__path__, "hermes."):
        if not module.name.startswith(("hermes.testing", "hermes.__main__")):
            import_module(module.name)
    found = {HermesError}
    while new := {child for kind in found for child in kind.__subclasses__()} - found:
        found |= new
    return {
        kind.__name__: kind
        for kind in found
        if kind.__module__.startswith("hermes.")
        and not kind.__module__.startswith("hermes.testing")
        and not kind.__name__.startswith("_")
        # A channel's own kind of an error is that error to whoever reads about it.
        and ("code" in vars(kind) or not kind.__module__.startswith(_CHANNELS))
    }


def test_every_error_has_a_heading_its_code_its_status_and_what_to_do() -> None:
    sections = sections_of(DOCS / "errors.md")
    wrong = []
    for name, kind in error_classes().items():
        section = sections.get(name, "")
        status = status_of(kind.__new__(kind))
        shown = f"`{kind.code}`, HTTP {status}." if status else f"`{kind.code}`. "
        if not section.strip().startswith(shown) or "**What to do:**" not in section:
            wrong.append(
                f"{name}: expected a section that begins with {shown!r} and says what to do"
            )

    assert wrong == []


def test_no_error_is_explained_that_does_not_exist() -> None:
    names = {heading for heading in headings_of(DOCS / "errors.md") if heading.startswith("`")}

    assert {name.strip("`") for name in names} == set(error_classes())


def channel_routes(options: Options) -> tuple[list[Route], list[Route]]:
    """Return the routes of the REST API and of the web chat."""
    access = object()
    gateway_api = MemoryGatewayApi(Script(), access=access, clock=SystemClock(), make_id=make_id)  # type: ignore[arg-type]
    origins = Origins(bound_host="127.0.0.1", public_url=options.public_url)
    shared = {"origins": origins, "clock": SystemClock(), "make_id": make_id}
    rest = RestChannel(
        RestSettings(),
        capabilities=load_capabilities("hermes.channels.rest"),
        **shared,  # type: ignore[arg-type]
    )
    web = WebChannel(
        WebSettings(),
        capabilities=load_capabilities("hermes.channels.web"),
        access=access,  # type: ignore[arg-type]
        info=dict,  # type: ignore[arg-type]
        story=dict,  # type: ignore[arg-type]
        **shared,  # type: ignore[arg-type]
    )
    return list(rest.routes(gateway_api)), list(web.routes(gateway_api))


async def methods_at(gateway: Gateway, path: str) -> list[str]:
    """Return the methods that a path takes, in its own words; HEAD goes with GET."""
    made = re.sub(r"\{\w+(:\w+)?\}", "x", path)
    async with (
        aiohttp.ClientSession() as session,
        session.request(ODD_METHOD, gateway.url + made) as answer,
    ):
        assert answer.status == 405, f"{path} answered {answer.status}"
        return [name for name in answer.headers["allow"].split(", ") if name != "HEAD"]


def plain(path: str) -> str:
    """Return a path without the types of its pieces."""
    return path.replace(":path}", "}")


PAGES = ("rest-api", "web-chat", "control-orders")
DOCS_PATHS = ("/api/openapi.json", "/api/docs", "/api/docs/{name}")


async def test_every_endpoint_is_on_its_page() -> None:
    pages = {name: (DOCS / f"{name}.md").read_text() for name in PAGES}
    rest, web = channel_routes(Options())
    server = ["/healthz", "/readyz", "/webhooks/{platform}", *DOCS_PATHS]
    wanted = [("rest-api", path) for path in [route.path for route in rest] + server]
    wanted += [("web-chat", route.path) for route in web]
    wanted += [("control-orders", path) for path in control_paths()]
    missing = []
    async with running_gateway(Options()) as gateway:
        for page, path in wanted:
            for method in await methods_at(gateway, path):
                # `GET` and `POST /x` names both methods of one path.
                # A heading of the generated page has no code in it.
                named = re.search(
                    rf"`{method}(`[^`\n]*`\w+)? {re.escape(plain(path))}`"
                    rf"|^## [a-z_.]+: {method} {re.escape(plain(path))}$",
                    pages[page],
                    re.MULTILINE,
                )
                if named is None:
                    missing.append(f"{page}: {method} {path}")

    assert missing == []


def control_paths() -> list[str]:
    """Return the paths of every order."""
    return sorted({order.route for order in ORDERS})


def statuses_in(folder: Path) -> set[int]:
    """Return the status codes that the source of a folder answers with."""
    found = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found |= _statuses_of(node)
    return found


def _statuses_of(call: ast.Call) -> set[int]:
    answers = ("plain_error", "json_response", "page_response", "HttpResponse")
    if not isinstance(call.func, ast.Name) or call.func.id not in answers:
        return set()
    values = [*call.args, *(word.value for word in call.keywords if word.arg == "status")]
    numbers = [value.value for value in values if isinstance(value, ast.Constant)]
    return {number for number in numbers if isinstance(number, int) and 200 <= number < 600}


def test_every_status_code_of_the_api_is_in_its_table() -> None:
    page = (DOCS / "rest-api.md").read_text(encoding="utf-8")
    own = statuses_in(SOURCE / "server") | statuses_in(SOURCE / "channels" / "rest")
    # 304 is an answer about the files of a page.
    own |= statuses_in(SOURCE / "http") - {304}
    of_errors = {status_of(kind.__new__(kind)) for kind in error_classes().values()} - {None}

    shown = {int(number) for number in re.findall(r"^\| (\d{3}) \|", page, re.MULTILINE)}

    assert shown == {200, 202} | own | of_errors


def test_every_error_code_of_the_api_is_in_its_table() -> None:
    page = sections_of(DOCS / "rest-api.md")["Errors"]
    rows = dict(re.findall(r"^\| (\d{3}) \| ([^|]*) \|", page, re.MULTILINE))
    classes = error_classes()
    roots = {"Refused", "TryLater"}
    shown = [
        (kind.code, status_of(kind.__new__(kind)))
        for name, kind in classes.items()
        if name not in roots
    ]

    missing = [
        (code, status) for code, status in shown if status and f"`{code}`" not in rows[str(status)]
    ]

    assert missing == []


def test_the_web_chats_own_status_codes_are_on_its_page() -> None:
    page = (DOCS / "web-chat.md").read_text(encoding="utf-8")

    special = statuses_in(SOURCE / "channels" / "web") - statuses_in(SOURCE / "channels" / "rest")

    assert {status for status in special if str(status) not in page} == set()


def test_every_package_is_in_the_architecture() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    packages = [folder.parent.name for folder in SOURCE.glob("*/__init__.py")]

    assert packages
    assert [name for name in packages if f"| `{name}` |" not in page] == []
