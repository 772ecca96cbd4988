"""`users export`: every table of the schema is exported, or left out for a reason; bodies are opened."""

import json
import re
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from hermes.control.user_export import user_export
from hermes.errors import Conflict
from hermes.message.event import ReplyContext
from hermes.ports.wallet import NewGrant
from hermes.store.sql.graph_reader import SqlGraphReader
from hermes.store.sql.person_rows import EXPORTED, LEFT_OUT
from hermes.testing.model_script import ScriptedTurn
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.test_memory import know
from tests.contract.store.test_flat import PACKAGE
from tests.stores.opening import KEYS

# The schema that it is compared with is SQLite's.
pytestmark = pytest.mark.sqlite_only


def test_every_table_is_exported_or_left_out_for_a_reason() -> None:
    schema = PACKAGE.joinpath("schema.sql").read_text()
    tables = set(re.findall(r"^CREATE TABLE (\w+)", schema, re.MULTILINE))

    assert set(EXPORTED) | set(LEFT_OUT) == tables
    assert set(EXPORTED) & set(LEFT_OUT) == set()
    assert all(LEFT_OUT.values())


async def test_it_holds_what_was_said_and_kept_and_of_nobody_else(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("my secret is a teapot", chat="ann")
        await rig.answer("mine is a kettle", chat="bob")
        found = await rig.store.inbox.get(await rig.say("/whoami", chat="ann"))
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        assert found is not None
        person_id = found.person_id
        await rig.store.wallets.grant(
            NewGrant(id="g1", person_id=person_id, amount=5, at=1.0, by="ops", reason="a gift")
        )
        raw = export(rig, person_id, user="rest:ann")

    lines = [json.loads(line) for line in raw.splitlines()]
    kinds = {line["kind"] for line in lines}
    counts = lines[-1]["counts"]
    assert (lines[0]["kind"], lines[0]["person"], lines[-1]["kind"]) == (
        "manifest",
        person_id,
        "end",
    )
    assert {"person", "consent", "channel", "wallet", "credit", "session", "message"} <= kinds
    assert {"accepted", "delivery", "interaction"} <= kinds
    assert sum(counts.values()) == len(lines) - 1
    assert lines[-1]["sha256"] == sha256(b"".join(raw.splitlines(keepends=True)[:-1])).hexdigest()
    assert kinds - {"manifest", "end"} <= set(lines[0]["kinds"])
    (credit,) = [line for line in lines if line["kind"] == "credit" and line["message_id"] == "g1"]
    assert credit["note"] == {"by": "ops", "reason": "a gift"}
    assert raw.count(b"my secret is a teapot") >= 2
    assert b"/whoami" in raw
    assert b"kettle" not in raw


@pytest.mark.req("A3")
async def test_it_shows_one_moment_whatever_is_written_meanwhile(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("before", chat="ann")
        person = await rig.store.people.find("rest", "ann")
        assert person is not None
        await know(rig, "diet", "before")
        for number in range(600):
            await give(rig, person.id, number)
        reader = SqlGraphReader.read(tmp_path / "hermes.db", key_file=KEYS)

        lines = user_export(reader, person.id, user="rest:ann", now=rig.clock.now)
        read = [next(lines)]
        await rig.answer("AFTER", chat="ann")
        await know(rig, "diet", "AFTER")
        await rig.store.users.link("rest", "ann", person_id=person.id, at=5.0)
        await rig.store.users.set_tier(person.id, "AFTER")
        read += [next(lines) for _ in range(20)]
        await give(rig, person.id, 600)
        await know(rig, "home_city", "AFTER")
        await rig.answer("AFTER", chat="ann")
        read += lines
        later = b"".join(user_export(reader, person.id, user="rest:ann", now=rig.clock.now))
        reader.close()

    raw = b"".join(read)
    entries = [json.loads(line) for line in read]
    wallet = next(entry for entry in entries if entry["kind"] == "wallet")
    booked = [entry for entry in entries if entry["kind"] == "credit"]
    assert b"AFTER" not in raw
    assert wallet["balance"] == sum(entry["amount"] for entry in booked)
    assert len([entry for entry in booked if entry["message_id"].startswith("g")]) == 600
    assert later.count(b"AFTER") > 4
    assert b'"g600"' in later


async def test_of_somebody_who_is_erased_before_it_begins_nothing_is_written(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        found = await rig.store.inbox.get(await rig.say("hello", chat="ann"))
        assert found is not None
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        await rig.store.people.erase(found.person_id, at=1.0)
        with pytest.raises(Conflict, match="was erased: nothing of them can be read any more"):
            export(rig, found.person_id, user="rest:ann")


def export(rig: Rig, person_id: str, *, user: str) -> bytes:
    return b"".join(user_export(rig.store.graphs, person_id, user=user, now=rig.clock.now))


async def give(rig: Rig, person_id: str, number: int) -> None:
    grant = NewGrant(id=f"g{number}", person_id=person_id, amount=1, at=1.0, by="", reason="")
    await rig.store.wallets.grant(grant)


async def test_it_holds_nothing_that_others_said_in_a_group(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=lambda *_: ScriptedTurn(text="fine")) as rig:
        say = partial(rig.say, chat="room", chat_type="group", platform="push")
        await say("BOBSECRET", user="bob", addressed=False)
        quoted = ReplyContext(message_id="1", text="BOBQUOTE")
        said = await say("what did he say?", user="ann", reply_to=quoted)
        assert await rig.outcome(said) == "answered"
        await say("so I heard", user="ann", addressed=False, reply_to=quoted)
        asked = str(rig.model.calls[-1].request.messages)
        assert "BOBSECRET" in asked
        assert "BOBQUOTE" in asked
        found = await rig.store.inbox.get(said)
        assert found is not None
        raw = export(rig, found.person_id, user="push:ann")

    manifest = json.loads(raw.splitlines()[0])
    assert b"BOB" not in raw
    assert raw.count(b"what did he say?") == 2
    assert raw.count(b"so I heard") == 2
    assert {"quoted", "note"} <= set(manifest["left_out"])
    assert "may repeat" in manifest["beware"]


async def test_it_is_read_in_pages(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        found = await rig.store.inbox.get(await rig.say("hello", chat="ann"))
        assert found is not None
        for number in range(501):
            await give(rig, found.person_id, number)
        rows = [
            row for row in rig.store.graphs.person_rows(found.person_id) if row.kind == "credit"
        ]

    names = [row.fields["message_id"] for row in rows]
    assert len(names) == len(set(names))
    assert {f"g{number}" for number in range(501)} <= set(names)
