"""Looks after stored agents: checks the models of new ones, and deletes those whose time has come.

One task for all agents, woken by every change of one, also by those of other processes. What it does
is guarded by the state of the agent, so another process, or this one after a crash, may do it again.
"""

from collections.abc import Awaitable, Callable

import structlog

from hermes.agents.roster import Roster
from hermes.config import AgentSettings
from hermes.errors import HermesError
from hermes.ports.agents import AgentRecord, AgentStore
from hermes.ports.clock import Clock
from hermes.ports.feed import ChangeFeed
from hermes.schedule.rounds import Rounds

_AT_ONCE = 100
_EVERY_S = 15.0
_LONGEST_REASON = 500
_log = structlog.get_logger(__name__)


class AgentChecks:
    """Brings agents that are `provisioning` to `ready` or `failed`, and deletes the due ones.

    `check` returns why the model of an agent cannot be called, or an empty text; `gone` stops the turns
    of an agent that was deleted.
    """

    def __init__(
        self,
        agents: AgentStore,
        roster: Roster,
        *,
        feed: ChangeFeed,
        check: Callable[[str, AgentSettings], Awaitable[str]],
        gone: Callable[[str], None],
        clock: Clock,
        every_s: float = _EVERY_S,
    ) -> None:
        self._agents = agents
        self._roster = roster
        self._check = check
        self._gone = gone
        self._clock = clock
        self._rounds = Rounds("agent checks", self.round, every_s=every_s)
        self._has_begun = False
        # Agents that were changed, by anybody, since the last round.
        self._changed: set[str] = set()
        feed.on("agents", self._heard)

    def start(self) -> None:
        """Start the rounds."""
        self._rounds.start()

    async def stop(self) -> None:
        """Stop the rounds."""
        await self._rounds.stop()

    async def round(self) -> None:
        """Do what is due; at the start, failed agents are checked again."""
        if not self._has_begun:
            await self._agents.check_failed_again(self._clock.now())
            await self._warn_of_names()
            self._has_begun = True
        await self._stop_turns()
        while found := await self._agents.unfinished(self._clock.now(), limit=_AT_ONCE):
            done = [await self._finish(agent) for agent in found]
            if not any(done):
                return

    def _heard(self, agent_id: str) -> None:
        if agent_id:
            self._changed.add(agent_id)
        self._rounds.wake()

    async def _warn_of_names(self) -> None:
        """Log which stored agents can be called by their id alone, because the file has their name."""
        for agent in self._roster.in_file:
            stored = await self._agents.find(agent.key)
            if stored is not None:
                _log.warning("agent_name_taken", agent=stored.id, name=agent.key)

    async def _stop_turns(self) -> None:
        """Stop the turns of agents that are gone."""
        changed, self._changed = self._changed, set()
        for agent_id in changed:
            if await self._agents.find(agent_id) is None:
                self._gone(agent_id)

    async def _finish(self, agent: AgentRecord) -> bool:
        """Check or delete an agent; return whether its state has changed."""
        if agent.state == "deleting":
            return await self._delete(agent)
        problem = await self._problem(agent)
        is_done = await self._agents.set_state(
            agent.id,
            "failed" if problem else "ready",
            while_in=("provisioning",),
            version=agent.version,
            at=self._clock.now(),
            reason=problem[:_LONGEST_REASON],
        )
        if is_done:
            _log.info("agent_checked", agent=agent.id, is_ready=not problem)
        return is_done

    async def _problem(self, agent: AgentRecord) -> str:
        try:
            return await self._check(agent.id, self._roster.of_record(agent).settings)
        except HermesError as error:
            return str(error)

    async def _delete(self, agent: AgentRecord) -> bool:
        is_done = await self._agents.remove(agent.id, now=self._clock.now())
        if is_done:
            _log.info("agent_deleted", agent=agent.id)
        return is_done
