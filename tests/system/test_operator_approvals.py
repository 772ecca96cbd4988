"""`hermes approvals` on a running gateway: the operator sees what waits with its arguments, and decides."""

import json
from pathlib import Path

import aiohttp

from tests.system.live import live_gateway, model_server, with_model
from tests.system.test_operator_commands import hermes

TOOL = """
from hermes.tools import tool


@tool(needs_approval=True)
def pay(amount: int) -> str:
    \"\"\"Pay something.\"\"\"
    return f"paid {amount}"
"""
ASK = {"sender": "ann", "text": '[[tool:pay {"amount":7}]] please'}


async def test_a_tool_call_is_listed_approved_and_on_record(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "shop.py").write_text(TOOL)
    (home / "shop.py").chmod(0o600)
    (home / "config.yaml").write_text("tools:\n  modules: [shop.py]\n")
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
    ):
        asked = await (await http.post("/api/messages", json=ASK)).json()
        (line,) = json.loads(await hermes(home, "approvals", "--json"))["approvals"]
        shown = await hermes(home, "approvals", "list")
        wrong = await hermes(home, "approvals", "approve", "nothing-like-it", code=1)
        done = await hermes(home, "approvals", "approve", line["id"][-6:])
        again = await hermes(home, "approvals", "deny", line["id"], code=1)
        status = await (await http.get(f"/api/messages/{asked['id']}")).json()
        audit = json.loads(await hermes(home, "audit", "--json"))
        agents = await hermes(home, "agents")

    assert (line["tool"], line["user"], line["message_id"]) == ("pay", "rest:ann", asked["id"])
    assert 'May I run pay with {"amount":7}?' in shown
    assert "Nothing waits under" in wrong
    assert done == f"pay may run ({line['id']}).\n"
    assert "approved already" in again
    assert status["state"] in ("running", "done")
    (approved,) = [
        one
        for one in audit["orders"]
        if one["action"] == "approvals.approve" and one["state"] == "ok"
    ]
    assert asked["id"] in approved["targets"]
    assert "all other messages" in agents
