"""People: who is who, and what they may spend."""

from hermes.errors import GuardFailed
from hermes.message.channel_name import platform_of
from hermes.ports.people import Person
from hermes.store.sql.access import forget_sign_ins
from hermes.store.sql.answers import drop_answers
from hermes.store.sql.compactions import forget_summaries
from hermes.store.sql.cron import forget_cron
from hermes.store.sql.directory import forget_chats
from hermes.store.sql.engine import Engine
from hermes.store.sql.facts import erase_memory
from hermes.store.sql.group_context import forget_overheard
from hermes.store.sql.hidden_ids import HidingState, hide_person, names_somebody
from hermes.store.sql.ids import SqlIds
from hermes.store.sql.offers import forget_reactions
from hermes.store.sql.queries import load
from hermes.store.sql.responses import erase_responses
from hermes.store.sql.tasks import erase_pushes
from hermes.store.sql.tx import Tx
from hermes.store.sql.users import forget_codes
from hermes.store.sql.wallet import forget_code

_SQL = load("people")
_ANSWERS = load("answers")
_HIDING = load("hidden_ids")
_USERS = load("users")
_MOST_KNOWN = 200
_MOST_MATCHING = 9


class SqlPeople:
    """Implements `ports.people.PeopleStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ids = SqlIds(engine)
        # Whether a session may show somebody who was erased: one that was at work then.
        self._may_show = True
        # People as last read; every change of one clears it.
        self._known: dict[str, Person] = {}
        for kind in ("people", "erasure"):
            engine.feed.on(kind, lambda _key: self._known.clear())

    async def find(self, platform: str, user_id: str) -> Person | None:
        """Return the person behind a channel id."""
        row = await self._engine.reads.row(_SQL["find"], platform_of(platform), user_id)
        return None if row is None else await self.get(str(row[0]))

    async def get(self, person_id: str) -> Person | None:
        """Return one person."""
        known, stamp = self._known.get(person_id), self._engine.feed.stamp
        if known is not None:
            return known
        row = await self._engine.reads.row(_SQL["get"], person_id)
        if row is None:
            return None
        person = Person(
            id=row[0],
            created_at=row[1],
            tier=row[2],
            may_train=bool(row[3]),
            is_erased=bool(row[4]),
            language=row[5],
        )
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        if stamp == self._engine.feed.stamp:
            self._known[person_id] = person
        return person

    async def matching(self, part: str) -> tuple[str, ...]:
        """Return some ids of people that begin or end with a part, the newest first."""
        return await self._ids.matching("person", part, limit=_MOST_MATCHING)

    async def balance(self, person_id: str) -> int:
        """Return the ledger's sum minus open holds."""
        rows = await self._engine.reads.rows(_SQL["balance"], person_id)
        return int(rows[0][0])

    async def erased(self, person_id: str) -> bool:
        """Return whether the person's data key was destroyed."""
        row = await self._engine.reads.row(_SQL["key"], person_id)
        return row is None

    async def set_consent(self, person_id: str, *, may_train: bool, at: float) -> bool:
        """Set whether a person's conversations may be trained on; False if unknown id."""

        async def unit(tx: Tx) -> bool:
            self._engine.feed.put(tx, "people", person_id)
            return await tx.changed(_SQL["consent"], person_id, may_train, at) == 1

        after = self._engine.feed.telling("people", person_id)
        return await self._engine.writer.run("consent", unit, after=after)

    async def set_language(self, person_id: str, language: str) -> bool:
        """Set the language of a person; False if unknown id."""

        async def unit(tx: Tx) -> bool:
            self._engine.feed.put(tx, "people", person_id)
            return await tx.changed(_SQL["set_language"], person_id, language) == 1

        after = self._engine.feed.telling("people", person_id)
        return await self._engine.writer.run("set_language", unit, after=after)

    async def erase(self, person_id: str, *, at: float, silent_since: float | None = None) -> None:
        """Destroy the person's data key: all their bodies become unreadable.

        With `silent_since`, raises `GuardFailed` if they are not silent since then any more.
        """

        async def unit(tx: Tx) -> None:
            if silent_since is not None:
                await _check_silent(tx, person_id, since=silent_since)
            erase_memory(tx, person_id)
            await hide_person(tx, person_id, sealer=self._engine.sealer, at=at)
            tx.put(_SQL["drop_key"], person_id)
            tx.put(_SQL["forget_writing"], person_id)
            forget_sign_ins(tx, person_id)
            tx.put(_SQL["forget_channels"], person_id)
            tx.put(_SQL["forget_caller_keys"], person_id)
            forget_code(tx, person_id)
            forget_codes(tx, person_id)
            forget_cron(tx, person_id)
            forget_chats(tx, person_id)
            await forget_overheard(tx, person_id)
            await forget_summaries(tx, person_id, sealer=self._engine.sealer)
            await drop_answers(tx, await tx.rows(_ANSWERS["of_person"], person_id))
            erase_responses(tx, person_id)
            erase_pushes(tx, person_id)
            await forget_reactions(tx, person_id)
            tx.put(_SQL["mark_erased"], person_id, at)
            self._engine.feed.put(tx, "erasure", person_id)

        self._may_show = True
        after = self._engine.feed.telling("erasure", person_id)
        await self._engine.writer.run("erase", unit, after=after)

    async def hide_erased(self, *, at: float) -> bool:
        """Hide erased people in sessions that were at work then; False if one still is."""
        if not self._may_show:
            return True
        self._may_show = False
        rows = await self._engine.reads.rows(_HIDING["erased_lanes"])
        for person_id in dict.fromkeys(str(one) for one, lane in rows if names_somebody(lane)):
            while (state := await self._hide(person_id, at=at)) == "more":
                pass
            self._may_show |= state == "busy"
        return not self._may_show

    async def _hide(self, person_id: str, *, at: float) -> HidingState:
        async def unit(tx: Tx) -> HidingState:
            self._engine.feed.put(tx, "erasure", person_id)
            return await hide_person(tx, person_id, sealer=self._engine.sealer, at=at)

        after = self._engine.feed.telling("erasure", person_id)
        return await self._engine.writer.run("hide", unit, after=after)


async def _check_silent(tx: Tx, person_id: str, *, since: float) -> None:
    if await tx.row(_USERS["silent"], since, 1, "", person_id) is None:
        raise GuardFailed(f"{person_id} has written meanwhile")
