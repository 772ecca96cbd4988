"""Who may order what, cell by cell: every order of the table, by every role, at every way in."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from hermes.app import Gateway, offline_operator
from hermes.cli import commands as command_line
from hermes.config import LoadedConfig, load
from hermes.control import orders
from hermes.control.audit import AuditAsk, AuditReport
from hermes.control.audited import Operator
from hermes.control.order import AnyOrder, NoFields
from hermes.control.orders import AUDIT_LIST, BY_CHAT, BY_NAME, ORDERS
from hermes.errors import HermesError
from hermes.ports.access import OPERATOR_ROLES, Role, allows
from hermes.ports.ids import IDS_PATH
from hermes.sessions.commands import BUILT_IN

SECRET = "S3cret-Words-Nobody-May-Keep"
# So long that no id and no time holds it by chance.
NUMBER = "4711008152342"
USER = {"user": f"telegram:{NUMBER}"}
# One request for every order of the table; what it names mostly does not exist.
CALLS: dict[str, tuple[str, str, Any]] = {
    "gateway.status": ("GET", "status", None),
    "gateway.overview": ("GET", "overview?span=hour", {"span": "hour"}),
    "turns.list": ("GET", "turns", {}),
    "turns.watch": ("GET", "turns/m_1", {"id": "m_1"}),
    "turns.stop": ("POST", "turns/m_1/stop", {}),
    "gateway.restart": ("POST", "restart", {}),
    "gateway.reload": ("POST", "reload", None),
    "gateway.rotate_keys": ("POST", "keys/rotate-store", {}),
    "models.list": ("GET", "models", None),
    "models.route": ("POST", "route", {"prompt": SECRET}),
    "models.refresh": ("POST", "models/refresh", {"providers": [SECRET]}),
    "models.swap": ("POST", "models/swap", {"model": SECRET}),
    "skills.list": ("GET", "/control/skills", None),
    "skills.show": ("GET", "/control/skills/s1", {"name": "s1"}),
    "skills.add": ("POST", "/control/skills", {"archive": SECRET}),
    "skills.remove": ("DELETE", "/control/skills/s1", {"name": "s1"}),
    "agents.list": ("GET", "/workspaces", {}),
    "agents.create": ("POST", "/workspaces", {"name": SECRET, "role": SECRET}),
    "agents.add_remote": ("POST", "remote-agents", {"url": SECRET}),
    "agents.show": ("GET", "/workspaces/w_1", {"id": "w_1"}),
    "agents.read": ("GET", "/workspaces/w_1?text=true", {"id": "w_1"}),
    "agents.change": ("PATCH", "/workspaces/w_1", {"role": SECRET}),
    "agents.delete": ("DELETE", "/workspaces/w_1", {"id": "w_1"}),
    "agents.stop": ("POST", "/workspaces/w_1/stop", {}),
    "agents.start": ("POST", "/workspaces/w_1/start", {}),
    "agents.versions": ("GET", "/workspaces/w_1/versions", {"id": "w_1"}),
    "agents.diff": ("GET", "/workspaces/w_1/diff", {"id": "w_1"}),
    "agents.swap": ("POST", "/workspaces/w_1/swap", {"runtime": "hermes"}),
    "agents.revert": ("POST", "/workspaces/w_1/revert", {"version": 1}),
    "hooks.list": ("GET", "hooks", None),
    "mcp.status": ("GET", "mcp", None),
    "mcp.reload": ("POST", "mcp/reload", None),
    "mcp.login": (
        "POST",
        "mcp/login",
        {
            "server": SECRET,
            "url": "http://127.0.0.1:9/mcp",
            "issuer": "http://127.0.0.1:9",
            "client_id": SECRET,
            "access_token": SECRET,
        },
    ),
    "mcp.logout": ("POST", "mcp/logout", {"server": SECRET}),
    "messages.list": ("GET", "messages", {}),
    "messages.list_with_text": ("GET", "messages?text=true", {}),
    "messages.why": ("GET", "why/m_1", None),
    "messages.read": ("GET", "why/m_1?text=true", None),
    "messages.prompt": ("GET", "calls/m_1.1", {"call": "m_1.1"}),
    "ids.find": ("GET", "ids?kinds=person,token&part=p_", {"kinds": "person,token", "part": "p_"}),
    "interactions.list": ("GET", "interactions", {}),
    "access.link": ("POST", "link", None),
    "access.invite": ("POST", "invitations", {"name": SECRET}),
    "access.invitations": ("GET", "invitations", None),
    "access.withdraw": ("DELETE", "invitations/t_1", {"id": "t_1"}),
    "tokens.list": ("GET", "tokens", None),
    "tokens.create": ("POST", "tokens", {"role": "viewer", "name": SECRET}),
    "tokens.revoke": ("POST", "tokens/revoke", {"id": f"hermes_{SECRET}"}),
    "keys.list": ("GET", "keys", None),
    "keys.create": ("POST", "keys", {"user": "ann", "label": SECRET}),
    "keys.revoke": ("POST", "keys/revoke", {"id": f"hk_{SECRET}"}),
    "secrets.list": ("GET", "/settings/secrets", None),
    "secrets.set": ("PUT", "/settings/secrets", {"key": "GROQ_API_KEY", "value": SECRET}),
    "secrets.delete": ("DELETE", "/settings/secrets/NOT_SET", {"key": "NOT_SET"}),
    "secrets.list_of_agent": ("GET", "/workspaces/main/secrets", None),
    "secrets.set_of_agent": (
        "PUT",
        "/workspaces/main/secrets",
        {"key": "GROQ_API_KEY", "value": SECRET},
    ),
    "secrets.delete_of_agent": (
        "DELETE",
        "/workspaces/main/secrets/NOT_SET",
        {"key": "NOT_SET"},
    ),
    "kill_switch.show": ("GET", "kill-switch", None),
    "kill_switch.set": ("POST", "kill-switch", {"is_on": False, "reason": SECRET}),
    "costs.show": ("GET", "costs?by=day", {"by": "day"}),
    "costs.branch": ("GET", "costs/m_1", {"id": "m_1"}),
    "consent.show": ("GET", f"consent?user=telegram:{NUMBER}", USER),
    "consent.set": ("POST", "consent", {**USER, "may_train": False}),
    "approvals.list": ("GET", "approvals", {}),
    "approvals.approve": ("POST", "approvals/approve", {"id": f"a_{SECRET}"}),
    "approvals.deny": ("POST", "approvals/deny", {"id": f"a_{SECRET}"}),
    "credits.list": ("GET", "credits", {}),
    "credits.show": ("GET", f"credits/wallet?user=telegram:{NUMBER}", USER),
    "credits.audit": ("GET", "credits/audit", None),
    "credits.grant": ("POST", "credits/grant", {**USER, "amount": 5, "reason": SECRET}),
    "credits.refund": ("POST", "credits/refund", {"message": "m_1", "reason": SECRET}),
    "credits.refer": ("POST", "credits/refer", {**USER, "code": SECRET}),
    "memory.show": ("GET", f"memory?user=telegram:{NUMBER}", USER),
    "memory.list": ("GET", "memory/people", {}),
    "memory.record": ("GET", f"memory/record?user=telegram:{NUMBER}", USER),
    "memory.set": ("POST", "memory", {**USER, "key": "diet", "value": SECRET}),
    "memory.forget": ("POST", "memory/forget", {**USER, "key": SECRET}),
    "memory.dream": ("POST", "memory/dream", USER),
    "users.list": ("GET", "users", {}),
    "users.show": ("GET", f"users/user?user=telegram:{NUMBER}", USER),
    "users.add": ("POST", "users/add", {"user": "telegram:1", "name": SECRET}),
    "users.activate": ("POST", "users/activate", USER),
    "users.block": ("POST", "users/block", USER),
    "users.link": ("POST", "users/link", {**USER, "channel": "discord:1"}),
    "users.unlink": ("POST", "users/unlink", USER),
    "users.tier": ("POST", "users/tier", {**USER, "tier": "pro"}),
    "users.export": ("POST", "users/export", USER),
    "users.erase": ("POST", "users/erase", USER),
    "pairing.list": ("GET", "pair", None),
    "pairing.approve": ("POST", "pair/approve", {"platform": "telegram", "code": SECRET}),
    "pairing.deny": ("POST", "pair/deny", USER),
    "pairing.revoke": ("POST", "pair/revoke", USER),
    "cron.list": ("GET", "cron", {}),
    "cron.show": ("GET", "cron/job?id=j_1", {"id": "j_1"}),
    "cron.add": ("POST", "cron", {**USER, "when": "at 9", "text": SECRET}),
    "cron.pause": ("POST", "cron/pause", {"id": "j_1"}),
    "cron.resume": ("POST", "cron/resume", {"id": "j_1"}),
    "cron.run": ("POST", "cron/run", {"id": "j_1"}),
    "cron.remove": ("POST", "cron/remove", {"id": "j_1"}),
    "search.find": ("GET", f"search?text={SECRET}", {"text": SECRET}),
    "graphs.show": ("POST", "graphs/show", {"people": [SECRET, "p_1"]}),
    "graphs.rate": ("POST", "graphs/rate", {"call": f"m_{SECRET}", "rating": "up"}),
    "graphs.export": ("POST", "graphs/export", {"people": ["all"]}),
    "replays.run": ("POST", "replays", {"message": "m_1", "system": SECRET}),
    "replays.list": ("GET", "replays", {}),
    "replays.show": ("GET", "replays/rp_1", {"id": "rp_1"}),
    "search.state": ("GET", "search/index", None),
    "search.rebuild": ("POST", "search/rebuild", None),
    "sessions.list": ("GET", "sessions", {}),
    "sessions.transcript": (
        "GET",
        f"sessions/transcript?session=agent:main:telegram:dm:{NUMBER}",
        {"session": f"agent:main:telegram:dm:{NUMBER}"},
    ),
    "sessions.graph": (
        "GET",
        f"sessions/graph?session=agent:main:telegram:dm:{NUMBER}",
        {"session": f"agent:main:telegram:dm:{NUMBER}"},
    ),
    "sessions.undo": ("POST", "sessions/undo", {"session": f"agent:main:telegram:dm:{NUMBER}"}),
    "sessions.end": ("POST", "sessions/end", {"session": f"agent:main:telegram:dm:{NUMBER}"}),
    "channels.list": ("GET", "channels", None),
    "channels.directory": ("GET", "channels/directory", {}),
    "sends.send": ("POST", "send", {"to": "telegram:1", "text": SECRET}),
    "channels.pause": ("POST", "channels/pause", {"platform": "web"}),
    "channels.resume": ("POST", "channels/resume", {"platform": "web"}),
    "deadletters.list": ("GET", "deadletters", {}),
    "deadletters.show": ("GET", "deadletters/letter?id=o_1", {"id": "o_1"}),
    "deadletters.replay": ("POST", "deadletters/replay", {"id": "o_1"}),
    "deadletters.drop": ("POST", "deadletters/drop", {"id": "o_1"}),
    "settings.list": ("GET", "settings", {}),
    "settings.set": ("POST", "settings", {"key": f"mcp.{SECRET}", "value": SECRET}),
    "logs.read": ("GET", "logs", {}),
    "doctor.run": ("GET", "doctor", None),
    "audit.list": ("GET", "audit", {}),
}
# Commands about a person's own affairs; none of them reaches an operator's function.
OWN = {spec.name for spec in BUILT_IN} - set(BY_CHAT)
ADMIN_COMMANDS = {
    "HERMES_ACCESS__PLATFORMS__REST__COMMANDS__DM__ADMINS": '["ann"]',
}


def settings_for(home: Path) -> LoadedConfig:
    """Return settings with a model that nobody asks, and one admin in direct chats."""
    variables = {
        "HERMES_SERVER__PORT": "0",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_API_KEY": "sk-test-not-a-real-key",
        **ADMIN_COMMANDS,
    }
    return load(variables, home)


def whole_path(path: str) -> str:
    """Return the path of an order; one that begins with a slash is not under /control."""
    return path if path.startswith("/") else f"/control/{path}"


class Ways:
    """A running gateway and its credentials."""

    def __init__(self, http: aiohttp.ClientSession, local: str) -> None:
        self.http = http
        self.local = local

    async def ask(self, action: str, token: str) -> int:
        """Give an order with a token; returns the status."""
        method, path, body = CALLS[action]
        return (await self._send(method, whole_path(path), token, body))[0]

    async def orders(self, **narrowed: str) -> list[dict[str, Any]]:
        """Return what is on record, the oldest first."""
        query = "&".join(f"{name}={value}" for name, value in narrowed.items())
        _, found = await self._send("GET", f"/control/audit?limit=1000&{query}", self.local)
        return list(reversed(found["orders"]))

    async def token(self, role: str) -> tuple[str, str]:
        """Return a new token's id and secret."""
        _, made = await self._send("POST", "/control/tokens", self.local, {"role": role})
        return made["token"]["id"], made["secret"]

    async def say(self, sender: str, text: str) -> dict[str, Any]:
        """Say something in a direct chat."""
        body = {"sender": sender, "text": text, "conversation": sender}
        return dict((await self._send("POST", "/api/messages", self.local, body))[1])

    async def _send(
        self, method: str, path: str, token: str, body: object = None
    ) -> tuple[int, Any]:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        given = body if method in ("POST", "PUT", "PATCH") else None
        async with self.http.request(method, path, json=given, headers=headers) as answer:
            return answer.status, await answer.json()


@pytest.fixture
async def ways(tmp_path: Path) -> AsyncIterator[Ways]:
    loaded = settings_for(tmp_path / "home")
    async with Gateway(loaded):
        address = json.loads((loaded.home / "run" / "gateway.json").read_text())
        url = f"http://{address['host']}:{address['port']}"
        async with aiohttp.ClientSession(url) as http:
            yield Ways(http, address["token"])


def test_every_order_of_the_table_is_asked_here() -> None:
    assert set(CALLS) == set(BY_NAME)


def test_the_page_about_operating_has_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "control-orders.md").read_text()
    shown = re.findall(r"^\| `([a-z_.]+)` \| (\w+) \| (\w+)", page, re.MULTILINE)

    assert {row for row in shown if "." in row[0]} == {
        (one.name, one.least, "changes" if one.changes else "shows" if one.shows else "looks")
        for one in BY_NAME.values()
    }


@pytest.mark.req("W7")
@pytest.mark.parametrize("role", OPERATOR_ROLES)
async def test_rest_lets_each_role_give_exactly_the_orders_of_the_table(
    ways: Ways, role: Role
) -> None:
    token_id, secret = await ways.token(role)

    allowed = {name: await ways.ask(name, secret) not in (401, 403) for name in CALLS}

    actor = f"token:{token_id}"
    rows = await ways.orders(actor=actor)
    assert allowed == {name: allows(role, one.least) for name, one in BY_NAME.items()}
    assert {row["action"] for row in rows} == {
        name for name, one in BY_NAME.items() if one.is_audited or not allows(role, one.least)
    }
    assert {row["action"] for row in rows if row["code"] == "forbidden"} == {
        name for name, one in BY_NAME.items() if not allows(role, one.least)
    }
    assert {row["state"] for row in rows} <= {"ok", "refused"}
    assert {row["role"] for row in rows} == {role}
    assert SECRET not in json.dumps(rows)
    assert NUMBER not in json.dumps(rows)


@pytest.mark.req("W7")
async def test_nobody_gives_an_order_without_a_credential(ways: Ways) -> None:
    statuses = {await ways.ask(name, "") for name in CALLS}
    unknown = {await ways.ask(name, "hermes_not-a-token") for name in CALLS}

    assert (statuses, unknown, await ways.orders()) == ({401}, {401}, [])


@pytest.mark.req("W7")
async def test_a_revoked_token_is_worth_nothing_at_once(ways: Ways) -> None:
    token_id, secret = await ways.token("operator")
    before = await ways.ask("gateway.status", secret)

    await ways._send("POST", "/control/tokens/revoke", ways.local, {"id": token_id})

    assert (before, await ways.ask("gateway.status", secret)) == (200, 401)


@pytest.mark.req("W7", "J20")
def test_the_command_line_without_a_gateway_is_audited_in_the_same_way(tmp_path: Path) -> None:
    loaded = settings_for(tmp_path / "home")

    async def give_all(operator: Operator) -> AuditReport:
        for order in ORDERS:
            with suppress(HermesError):
                await operator.give(order, request_of(order))
        return await operator.give(AUDIT_LIST, AuditAsk(limit=1000))

    with offline_operator(loaded, create=True, operator="olga") as operator:
        assert operator is not None
        rows = asyncio.run(give_all(operator)).orders

    assert {row.action for row in rows} == {one.name for one in ORDERS if one.is_audited}
    assert {(row.actor, row.role) for row in rows} == {("local:olga", "owner")}
    assert {row.state for row in rows} <= {"ok", "refused"}
    assert SECRET not in repr(rows)


def test_without_a_gateway_nothing_but_orders_can_be_reached(tmp_path: Path) -> None:
    with offline_operator(settings_for(tmp_path / "home"), create=True) as operator:
        assert {name for name in dir(operator) if not name.startswith("_")} == {"act", "give"}


def test_the_command_line_reaches_the_gateway_only_by_orders_of_the_table() -> None:
    folder = Path(command_line.__file__).parent
    texts = [file.read_text() for file in folder.glob("*.py")]
    used = {name for text in texts for name in re.findall(r"\b[A-Z][A-Z_]+\b", text)}

    assert [text for text in texts if re.search(r"""["']/control""", text)] == []
    assert orders.IDS_FIND.path == IDS_PATH
    assert len(used & {name for name, one in vars(orders).items() if one in ORDERS}) > 60


@pytest.mark.req("W18")
async def test_in_a_chat_those_whom_the_settings_name_act_as_operators(ways: Ways) -> None:
    await ways.say("ann", "/reload-mcp once")
    refused = await ways.say("bob", "/reload-mcp once")

    rows = await ways.orders()
    assert refused["outcome"] == "refused"
    assert [(row["action"], row["role"], row["state"]) for row in rows] == [
        ("mcp.reload", "operator", "ok")
    ]
    assert rows[0]["actor"].startswith("chat:p_")


def test_every_chat_command_is_an_order_of_the_table_or_a_persons_own() -> None:
    assert set(BY_CHAT.values()) <= set(BY_NAME)
    assert {
        "help", "whoami", "new", "stop", "status", "queue", "steer", "approve", "deny", "model",
        "reasoning", "memory", "search", "schedule", "usage", "credits", "link",
    } <= OWN  # fmt: skip


def request_of(order: AnyOrder) -> Any:
    """Return the request of `CALLS` for an order."""
    if order.request is NoFields:
        return NoFields()
    in_path = dict.fromkeys(order.parameters, "m_1")
    return msgspec.convert(in_path | (CALLS[order.name][2] or {}), order.request)
