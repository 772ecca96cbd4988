"""W22: the name of a conversation belongs to its sender, and old conversations go on for theirs."""

from pathlib import Path

import pytest

from tests.contract.journal.rig import Rig, open_rig
from tests.stores.opening import tables

pytestmark = pytest.mark.req("W22")
SECRET = "ZEBRA-771"


async def ask(rig: Rig, sender: str, text: str, *, chat: str) -> str:
    """Say something as a sender; returns what the model was shown of the conversation."""
    await rig.answer(text, chat=chat, user=sender)
    shown = rig.model.calls[-1].request.messages
    return "|".join(one.text for one in shown if one.role == "user")


def take_back(home: Path) -> None:
    """Make the database one of the version before names belonged to senders."""
    with tables(home) as db:
        db.execute("DROP INDEX graphs_session; DROP INDEX credentials_parent")
        db.execute("DROP INDEX credentials_user")
        for table in (
            "lane_writers",
            "nodes",
            "claims",
            "feed",
            "outbox_more",
            "channel_state",
            "response_chains",
            "stored_responses",
            "feedback",
            "agents",
            "agent_versions",
            "secrets",
            "task_pushes",
            "offers",
            "outbox_parts",
            "turn_counts",
            "replays",
            "early_reactions",
        ):
            db.execute(f"DROP TABLE {table}")
        db.execute("DROP INDEX lanes_person")
        for column in ("store_responses", "may_delegate", "read_history"):
            db.execute(f"ALTER TABLE caller_keys DROP COLUMN {column}")
        for column in ("may_delegate", "user_id"):
            db.execute(f"ALTER TABLE credentials DROP COLUMN {column}")
        db.execute("ALTER TABLE people DROP COLUMN language")
        db.execute("ALTER TABLE lanes DROP COLUMN adapter")
        db.execute("ALTER TABLE lanes ADD COLUMN expires REAL")
        db.execute("ALTER TABLE lanes DROP COLUMN temporary")
        db.execute("ALTER TABLE graphs DROP COLUMN feedback")
        for column in ("owner", "answer", "question"):
            db.execute(f"ALTER TABLE approvals DROP COLUMN {column}")
        for index in (
            "outbox_unsettled",
            "outbox_vanishing",
            "outbox_posted",
            "inbox_content",
            "inbox_platform",
            "inbox_outcome",
            "interactions_agent",
            "interactions_model",
            "interactions_cent",
            "interactions_dime",
            "interactions_dollar",
            "outbox_sends",
        ):
            db.execute(f"DROP INDEX {index}")
        for column in ("content_key", "handle_used"):
            db.execute(f"ALTER TABLE inbox DROP COLUMN {column}")
        for column in (
            "owner",
            "more",
            "stopped_by",
            "most",
            "handle_key",
            "handle_number",
            "last",
            "vanish_s",
        ):
            db.execute(f"ALTER TABLE outbox DROP COLUMN {column}")
        db.execute("ALTER TABLE outbox ADD COLUMN more TEXT NOT NULL DEFAULT '[]'")
        db.execute("ALTER TABLE credentials DROP COLUMN seen_at")
        db.execute("ALTER TABLE inbox DROP COLUMN came_by")
        db.execute("PRAGMA user_version = 16")


@pytest.mark.parametrize("chat", ["bob", "kitchen"])
async def test_nobody_gets_into_the_conversation_of_another_sender(
    tmp_path: Path, chat: str
) -> None:
    async with open_rig(tmp_path, own_chats=True) as rig:
        await ask(rig, "bob", f"remember {SECRET}", chat=chat)

        assert SECRET not in await ask(rig, "mallory", "what was said before?", chat=chat)
        for command in ("/undo", "/new", "/stop"):
            await rig.answer(command, chat=chat, user="mallory")
        assert SECRET in await ask(rig, "bob", "what was said before?", chat=chat)


async def test_names_with_separators_are_not_confused(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_chats=True) as rig:
        await ask(rig, "a", f"remember {SECRET}", chat="b:c")

        assert SECRET not in await ask(rig, "a:b", "and?", chat="c")
        assert SECRET not in await ask(rig, "b:c", "and?", chat="a")
        assert SECRET not in await ask(rig, "a%3Ab", "and?", chat="c")
        assert SECRET in await ask(rig, "a", "and?", chat="b:c")


@pytest.mark.sqlite_only
async def test_old_conversations_go_on_for_who_alone_wrote_in_them(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await ask(rig, "bob", "bob's own", chat="bob")
        await ask(rig, "cli", "the terminal's", chat="c_06gtv2gs")
        await ask(rig, "ann", "ann's kitchen", chat="kitchen")
        await ask(rig, "carl", "carl's own", chat="carl")
        await ask(rig, "mallory", "mallory was here", chat="carl")
    take_back(tmp_path)

    async with open_rig(tmp_path, own_chats=True) as rig:
        assert "bob's own" in await ask(rig, "bob", "and?", chat="bob")
        assert "the terminal's" in await ask(rig, "cli", "and?", chat="c_06gtv2gs")
        assert "ann's kitchen" in await ask(rig, "ann", "and?", chat="kitchen")
        for sender, chat in (("bob", "kitchen"), ("kitchen", "kitchen"), ("mallory", "bob")):
            assert await ask(rig, sender, "and?", chat=chat) == "and?"
        # Two people wrote there: it goes on for neither of them.
        for sender in ("carl", "mallory"):
            assert await ask(rig, sender, "and?", chat="carl") == "and?"


@pytest.mark.sqlite_only
async def test_who_was_linked_meanwhile_still_owns_the_old_conversation(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await ask(rig, "ann", "before", chat="kitchen")
        await rig.answer("hello", chat="ann-elsewhere", platform="push")
        other = await rig.store.people.find("push", "ann-elsewhere")
        assert other is not None
        await rig.store.users.link("rest", "ann", person_id=other.id, at=1.0)
        await ask(rig, "ann", "after", chat="kitchen")
    take_back(tmp_path)

    async with open_rig(tmp_path, own_chats=True) as rig:
        lane = rig.lane("kitchen")
        assert await rig.store.sessions.old_writers(lane) == {"ann"}
        assert "after" in await ask(rig, "ann", "and?", chat="kitchen")

        await rig.store.people.erase(other.id, at=2.0)
        assert await rig.store.sessions.old_writers(lane) == {""}
