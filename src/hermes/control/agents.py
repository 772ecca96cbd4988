"""Orders about agents: list, create, show, change, stop, start and delete; every change is a version.

An agent is a "workspace" of the HTTP API. Agents of config.yaml are listed and shown like the others,
and change only in that file.
"""

import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Mapping
from itertools import zip_longest
from typing import Any, Final

import msgspec
import structlog

from hermes.agents.definition import (
    AGENT_ID_PREFIX,
    Definition,
    changed_document,
    changed_fields,
    define,
    read_document,
    write_document,
)
from hermes.agents.roster import Agent, AgentRule, Roster, rules_of
from hermes.config import AgentSettings, Settings
from hermes.control.agent_orders import (
    AgentAsk,
    AgentChange,
    AgentEnd,
    AgentFields,
    AgentLine,
    AgentOrder,
    AgentReport,
    AgentsAsk,
    AgentsReport,
    AgentSwap,
    DiffAsk,
    DiffReport,
    FieldDiff,
    NewAgent,
    NewRemoteAgent,
    Revert,
    VersionLine,
    VersionsAsk,
    VersionsReport,
)
from hermes.errors import AdapterError, BadRequest, Conflict, NetError, NotFound
from hermes.message.ids import MakeId
from hermes.ports.adapter import NATIVE
from hermes.ports.agents import (
    AGENT_STATES,
    AgentRecord,
    AgentState,
    AgentStore,
    AgentVersion,
    RemoteCard,
)
from hermes.ports.clock import Clock

_log = structlog.get_logger(__name__)
# Returns why the model of an agent cannot be called; empty if it can.
CheckModel = Callable[[str, AgentSettings], Awaitable[str]]
# Returns what is in the agent card at an address, read with the key that a secret's name stands for.
ReadCard = Callable[[str, str], Awaitable[RemoteCard]]
# The runtime of agents of other systems.
_REMOTE: Final = "a2a"
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME: Final = 63
_LONGEST_DESCRIPTION: Final = 1_000
_MOST_LISTED = 1_000
_LONGEST_SHOWN = 80
_FILE: Final = "file"
_STORE: Final = "store"
# Not a field of the document: who changes what, and why.
_BESIDE: Final = frozenset({"id", "version", "note", "by"})
_LONGEST_GRACE_S = 30 * 86_400.0


class AgentOperations:
    """Where orders about agents arrive.

    Without a gateway there is no `check`: the next one checks the agents.
    """

    def __init__(
        self,
        agents: AgentStore,
        roster: Roster,
        settings: Settings,
        *,
        clock: Clock,
        make_id: MakeId,
        check: CheckModel | None = None,
        runtimes: Collection[str] = (NATIVE,),
        read_card: ReadCard | None = None,
    ) -> None:
        self._agents = agents
        self._roster = roster
        self._settings = settings
        self._clock = clock
        self._make_id = make_id
        self._check = check
        self._runtimes = runtimes
        self._read_card = read_card

    async def list(self, ask: AgentsAsk) -> AgentsReport:
        """Return agents: those of config.yaml, then the others by name."""
        if not 1 <= ask.limit <= _MOST_LISTED:
            raise BadRequest(f"The limit is {ask.limit}: expected 1 to {_MOST_LISTED:,}.")
        state = _state(ask.state)
        is_first = not ask.after and state in (None, "ready")
        in_file = agents_in_file(self._settings).workspaces if is_first else ()
        found = await self._agents.page(after=ask.after, limit=ask.limit + 1, state=state)
        shown = found[: ask.limit]
        return AgentsReport(
            workspaces=(*in_file, *map(_stored_line, map(self._both, shown))),
            after=shown[-1].name if len(found) > ask.limit else "",
        )

    async def names(self) -> tuple[str, ...]:
        """Return the names of agents, as shells complete them: those of config.yaml first."""
        found = await self._agents.page(limit=_MOST_LISTED)
        return (*(one.name for one in self._roster.in_file), *(one.name for one in found))

    async def create(self, new: NewAgent) -> AgentReport:
        """Store a new agent; its model is checked right after."""
        document = changed_document({}, _given(new))
        made = self._defined(document)
        self._check_free(made.name)
        now = self._clock.now()
        record = AgentRecord(
            id=self._make_id(AGENT_ID_PREFIX),
            name=made.name,
            state="provisioning",
            version=1,
            document=write_document(document),
            author=new.by,
            created_at=now,
            changed_at=now,
        )
        most = self._settings.workspaces.max_count
        await self._agents.add(record, note=new.note, most=most)
        _log.info("agent_created", agent=record.id, by=new.by)
        return self._report(record)

    async def add_remote(self, new: NewRemoteAgent) -> AgentReport:
        """Store an agent that another system answers for, by its agent card."""
        if self._read_card is None:
            raise Conflict("No gateway runs, so no agent card can be read: `hermes up` starts one.")
        try:
            card = await self._read_card(new.url, new.secret)
        except (AdapterError, NetError) as error:
            raise BadRequest(f"Nothing was added: {error}.") from None
        return await self.create(
            NewAgent(
                name=new.name or _name_of(card.name),
                runtime=_REMOTE,
                description=" ".join(card.description.split())[:_LONGEST_DESCRIPTION],
                adapter={"url": new.url, **({"secret": new.secret} if new.secret else {})},
                note=new.note,
                by=new.by,
            )
        )

    async def show(self, ask: AgentAsk) -> AgentLine:
        """Return an agent, without what its model is told."""
        agent = await self._roster.get(ask.id)
        if not agent.is_stored:
            return _file_line(agent.key, self._settings)
        return _stored_line(self._both(await self._stored(ask.id)))

    async def read(self, ask: AgentAsk) -> AgentReport:
        """Return an agent with everything that is set of it."""
        agent = await self._roster.get(ask.id)
        if agent.is_stored:
            return self._report(await self._stored(ask.id))
        line = msgspec.structs.asdict(_file_line(agent.key, self._settings))
        return AgentReport(**line, settings=agent.settings.model_dump(exclude_unset=True))

    async def change(self, change: AgentChange) -> AgentReport:
        """Store new values as the next version; turns that begin from now on have them.

        What changes nothing is no version.
        """
        record = await self._stored(change.id)
        if change.version not in (None, record.version):
            raise Conflict(
                f"The newest version of {record.name!r} is {record.version}, and not "
                f"{change.version}: look at it, and repeat your change."
            )
        document = changed_document(read_document(record.document), _given(change))
        return await self._put(record, document, note=change.note, by=change.by)

    async def revert(self, revert: Revert) -> AgentReport:
        """Store the fields of an earlier version as the next one; the name stays."""
        record = await self._stored(revert.id)
        version = await self._version(record, revert.version)
        document = {**read_document(version.document), "name": record.name}
        note = revert.note or f"version {revert.version} again"
        return await self._put(record, document, note=note, by=revert.by)

    async def swap(self, swap: AgentSwap) -> AgentReport:
        """Let another adapter answer from the next turn on; it is checked first, or nothing changes."""
        record = await self._stored(swap.id)
        document = _swapped(read_document(record.document), swap, version=record.version + 1)
        made = self._defined(document)
        if self._check is None:
            raise Conflict(
                "A swap checks the adapter first, which only the running gateway can: start Hermes."
            )
        problem = await self._check(record.id, made.settings)
        if problem:
            runtime = self._roster.of_record(record).settings.runtime
            raise Conflict(
                f"{record.name!r} stays with {runtime}, because {swap.runtime} cannot be called: {problem}"
            )
        note = swap.note or f"swapped to {swap.runtime}"
        return await self._put(record, document, note=note, by=swap.by, is_checked=True)

    async def stop(self, order: AgentOrder) -> AgentLine:
        """Let an agent take no more messages until it is started again."""
        return await self._set_state(
            order, "stopped", while_in=("provisioning", "ready", "failed", "stopped")
        )

    async def start(self, order: AgentOrder) -> AgentLine:
        """Check the model of an agent and let it answer again; a deletion to come is cancelled."""
        return await self._set_state(
            order, "provisioning", while_in=("provisioning", "stopped", "failed", "deleting")
        )

    async def delete(self, end: AgentEnd) -> AgentLine:
        """Let an agent take no more messages, and delete it when its time has come."""
        grace_s = end.grace_s
        if grace_s is None:
            grace_s = self._settings.workspaces.delete_grace_s
        if not 0 <= grace_s <= _LONGEST_GRACE_S:
            raise BadRequest(
                f"The field 'grace_s' is {grace_s:g}: expected 0 to {_LONGEST_GRACE_S:,.0f}."
            )
        return await self._set_state(
            end, "deleting", while_in=AGENT_STATES, delete_at=self._clock.now() + grace_s
        )

    async def versions(self, ask: VersionsAsk) -> VersionsReport:
        """Return who changed an agent when, and which fields."""
        if not 1 <= ask.limit <= _MOST_LISTED:
            raise BadRequest(f"The limit is {ask.limit}: expected 1 to {_MOST_LISTED:,}.")
        record = await self._stored(ask.id)
        found = await self._agents.versions(record.id, before=ask.before, limit=ask.limit + 1)
        lines = [_version_line(one, before) for one, before in zip_longest(found, found[1:]) if one]
        return VersionsReport(id=record.id, versions=tuple(lines[: ask.limit]))

    async def diff(self, ask: DiffAsk) -> DiffReport:
        """Return what differs between two versions."""
        record = await self._stored(ask.id)
        new = record.version if ask.new is None else ask.new
        old = max(1, new - 1) if ask.old is None else ask.old
        before, after = await self._version(record, old), await self._version(record, new)
        changed = changed_fields(read_document(before.document), read_document(after.document))
        fields = [FieldDiff(field=name, old=a, new=b) for name, (a, b) in changed.items()]
        return DiffReport(id=record.id, old=old, new=new, fields=tuple(fields))

    async def _put(
        self,
        record: AgentRecord,
        document: Mapping[str, Any],
        *,
        note: str,
        by: str,
        is_checked: bool = False,
    ) -> AgentReport:
        if not changed_fields(read_document(record.document), document):
            return self._report(record)
        made = self._defined(document)
        if made.name != record.name:
            self._check_free(made.name)
        state = await self._state_after(record, made.settings, is_checked=is_checked)
        version = AgentVersion(
            number=record.version + 1,
            document=write_document(document),
            author=by,
            at=self._clock.now(),
            note=note,
        )
        changed = await self._agents.change(
            record.id,
            version,
            name=made.name,
            state=state,
            keep=self._settings.workspaces.max_versions,
        )
        _log.info("agent_changed", agent=record.id, version=version.number, by=by)
        return self._report(changed)

    async def _state_after(
        self, record: AgentRecord, settings: AgentSettings, *, is_checked: bool
    ) -> AgentState:
        """Return the state after a change: an agent that answers must not lose its model by it."""
        if record.state == "deleting":
            raise Conflict(
                f"The agent {record.name!r} is being deleted: start it again to change it."
            )
        if record.state != "ready":
            return "stopped" if record.state == "stopped" else "provisioning"
        before = self._roster.of_record(record).settings
        if is_checked or _runs_on(before) == _runs_on(settings):
            return "ready"
        if self._check is None:
            return "provisioning"
        problem = await self._check(record.id, settings)
        if problem:
            what = "model" if settings.runtime == NATIVE else "adapter"
            raise BadRequest(f"Nothing was changed, because the {what} cannot be called: {problem}")
        return "ready"

    async def _set_state(
        self,
        order: AgentAsk,
        state: AgentState,
        *,
        while_in: tuple[AgentState, ...],
        delete_at: float | None = None,
    ) -> AgentLine:
        record, now = await self._stored(order.id), self._clock.now()
        is_done = await self._agents.set_state(
            record.id, state, while_in=while_in, at=now, delete_at=delete_at
        )
        if not is_done:
            raise Conflict(
                f"The agent {record.name!r} is {record.state}: that is possible while it is "
                f"{' or '.join(while_in)}."
            )
        _log.info("agent_state", agent=record.id, state=state)
        return _stored_line(self._both(await self._stored(record.id)))

    def _defined(self, document: Mapping[str, Any]) -> Definition:
        """Return the agent that a document describes; raises `BadRequest` if nothing here runs it."""
        made = define(document)
        runtime = made.settings.runtime
        if runtime not in self._runtimes:
            raise BadRequest(
                f"The runtime is {runtime[:_LONGEST_SHOWN]!r}, which is not here: use "
                f"{' or '.join(self._runtimes)}."
            )
        return made

    def _check_free(self, name: str) -> None:
        if any(agent.key == name for agent in self._roster.in_file):
            raise Conflict(
                f"There is an agent {name!r} in config.yaml already: choose another name."
            )

    async def _stored(self, name: str) -> AgentRecord:
        """Return a stored agent; raises `Conflict` for one that is in config.yaml."""
        agent = await self._roster.get(name)
        record = await self._agents.find(agent.key) if agent.is_stored else None
        if record is not None:
            return record
        if agent.is_stored:
            raise NotFound(f"The agent {name[:100]!r} was deleted just now.")
        raise Conflict(
            f"The agent {agent.key!r} is in config.yaml and can only be read here: change "
            f"agents.{agent.key} there, and restart Hermes."
        )

    async def _version(self, record: AgentRecord, number: int) -> AgentVersion:
        version = await self._agents.version(record.id, number)
        if version is None:
            raise NotFound(
                f"There is no version {number} of {record.name!r}; the newest is {record.version}."
            )
        return version

    def _both(self, record: AgentRecord) -> tuple[AgentRecord, Agent]:
        return record, self._roster.of_record(record)

    def _report(self, record: AgentRecord) -> AgentReport:
        line = msgspec.structs.asdict(_stored_line(self._both(record)))
        return AgentReport(**line, settings=read_document(record.document))


def agents_in_file(settings: Settings) -> AgentsReport:
    """Return the agents of the settings, the default one first."""
    default = settings.default_agent
    names = sorted(settings.agents, key=lambda name: (name != default, name))
    return AgentsReport(workspaces=tuple(_file_line(name, settings) for name in names))


def _file_line(name: str, settings: Settings) -> AgentLine:
    agent, rules = settings.agents[name], rules_of(settings.agent_rules, settings.channels)
    return AgentLine(
        id=name,
        name=name,
        called=agent.name,
        status="ready",
        source=_FILE,
        is_default=name == settings.default_agent,
        role=agent.role,
        runtime=agent.runtime,
        model=_model(agent),
        tools=agent.tools,
        skills=agent.skills,
        description=agent.description or agent.role,
        rules=tuple(_rule_text(rule) for rule in rules if rule.agent == name),
    )


def _name_of(card_name: str) -> str:
    """Return the name of a card as that of an agent here: small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", card_name).encode("ascii", "ignore").decode().lower()
    return _NOT_IN_NAMES.sub("-", plain).strip("-")[:_LONGEST_NAME].strip("-") or "remote"


def _state(name: str) -> AgentState | None:
    """Return the state of a name; None for all."""
    found = next((one for one in AGENT_STATES if one == name), None)
    if name and found is None:
        raise BadRequest(f"The state is {name[:80]!r}: expected {', '.join(AGENT_STATES)}.")
    return found


# Any: fields of a request, as JSON has them.
def _given(fields: AgentFields) -> dict[str, Any]:
    """Return the fields that a request sets."""
    said: dict[str, Any] = msgspec.to_builtins(fields)
    return {name: value for name, value in said.items() if name not in _BESIDE}


def _stored_line(both: tuple[AgentRecord, Agent]) -> AgentLine:
    record, agent = both
    return AgentLine(
        id=record.id,
        name=record.name,
        called=agent.settings.name,
        status=record.state,
        reason=record.reason,
        source=_STORE,
        role=agent.settings.role,
        runtime=agent.settings.runtime,
        model=_model(agent.settings),
        tools=agent.settings.tools,
        skills=agent.settings.skills,
        description=agent.settings.description or agent.settings.role,
        shared=agent.shared,
        version=record.version,
        created_at=record.created_at,
        changed_at=record.changed_at,
        delete_at=record.delete_at,
        author=record.author,
    )


def _swapped(document: Mapping[str, Any], swap: AgentSwap, *, version: int) -> dict[str, Any]:
    """Return a document with another adapter, whose folder is named after the version if it is new."""
    adapter = dict(document.get("adapter") or {})
    if not swap.preserve_cwd and swap.runtime != document.get("runtime", NATIVE):
        adapter["folder"] = f"v{version}"
    runtime = None if swap.runtime == NATIVE else swap.runtime
    return changed_document(document, {"runtime": runtime, "adapter": adapter or None})


def _runs_on(settings: AgentSettings) -> tuple[object, ...]:
    """Return what of an agent is checked before it answers."""
    return settings.runtime, settings.adapter, settings.model, settings.tier


def _version_line(version: AgentVersion, before: AgentVersion | None) -> VersionLine:
    old = {} if before is None else read_document(before.document)
    return VersionLine(
        version=version.number,
        author=version.author,
        at=version.at,
        note=version.note,
        changed=tuple(changed_fields(old, read_document(version.document))),
    )


def _model(settings: AgentSettings) -> str:
    return settings.model or (f"tier {settings.tier}" if settings.tier else "")


def _rule_text(rule: AgentRule) -> str:
    name = rule.place.removeprefix("agent_rules.")
    return f"{name}: {', '.join(f'{field} {value}' for field, value in rule.asks)}"
