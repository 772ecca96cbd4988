"""One story: a gateway that is killed again and again while people talk to it, and its end.

Afterwards nothing is left open: every message has its outcome and every reply its fate, so that
the books can be checked.
"""

import asyncio
import signal
from collections.abc import Coroutine, Sequence
from pathlib import Path

import aiohttp
import msgspec

from hermes.testing.power_cut import EXIT_POWER_CUT, PowerCut
from tests.stores.opening import tables
from tests.torture.driver import Driver
from tests.torture.homes import Home, Mode
from tests.torture.places import Place
from tests.torture.polling import pause, until
from tests.torture.processes import Forks, GatewayProcess
from tests.torture.stand_ins import StandIns
from tests.torture.wallet_checks import audit
from tests.torture.workload import Script

SETTLE_S = 60.0
LOOK_EVERY_S = 0.02


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """How one gateway ends: at a failpoint, at a moment after its start, or by a power cut."""

    failpoint: str | None = None
    nth: int = 1
    after_s: float | None = None
    power_cut: PowerCut | None = None

    @property
    def armed(self) -> str:
        """What HERMES_FAILPOINTS says."""
        return "" if self.failpoint is None else f"{self.failpoint}:{self.nth}"


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A story that has ended: which kills happened, and what the books need to be checked."""

    tag: str
    home: Home
    driver: Driver
    place: Place
    fired: tuple[Kill, ...]
    missed: tuple[Kill, ...]
    starts: int
    rounds: int
    audits: int


class Story:
    """Tells one story."""

    def __init__(
        self,
        folder: Path,
        mode: Mode,
        *,
        tag: str,
        seed: int,
        kills: Sequence[Kill],
        forks: Forks,
        stand_ins: StandIns,
        synchronous: str = "FULL",
    ) -> None:
        self._home = Home(folder, mode)
        self._script = Script(tag, mode, seed=seed)
        self._kills = list(kills)
        self._forks = forks
        self._stand_ins = stand_ins
        self._synchronous = synchronous
        self._fired: list[Kill] = []
        self._starts = 0
        self._rounds = 0
        self._audits = 0
        self._talked = asyncio.Event()

    async def tell(self) -> Told:
        """Run it to its end."""
        place = self._stand_ins.place(self._home.mode)
        await place.open(self._script.chats(), closed=self._script.closed_chat)
        try:
            return await self._tell(place)
        finally:
            await place.close()

    async def _tell(self, place: Place) -> Told:
        self._home.write(
            model_url=self._stand_ins.model.base_url,
            pigeon_url=self._stand_ins.pigeon(self._home.mode).base_url,
            platform=place.platform,
            settings=place.settings if self._home.mode.place else None,
            synchronous=self._synchronous,
        )
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        async with aiohttp.ClientSession(connector=connector) as session:
            driver = Driver(self._home, place, session=session)
            showing = asyncio.create_task(self._show_the_way(place))
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._talk(driver))
                    last = await self._run_gateways()
            except* AssertionError as group_error:
                raise AssertionError(
                    f"{self._script.tag}: {_first_of(group_error)}\n{self._home.log()}"
                ) from group_error
            await self._settle(driver)
            told = await driver.audit()
            assert isinstance(told, dict)
            assert (told["wrong"], told["holds"]) == (0, 0), told
            self._audits += 1
            last.send(signal.SIGKILL)
            await last.wait()
            showing.cancel()
        return Told(
            tag=self._script.tag,
            home=self._home,
            driver=driver,
            place=place,
            fired=tuple(self._fired),
            missed=tuple(self._kills[len(self._fired) :]),
            starts=self._starts,
            rounds=self._rounds,
            audits=self._audits,
        )

    async def _show_the_way(self, place: Place) -> None:
        """Tell a platform that calls where each next gateway listens."""
        url = ""
        while True:
            address = self._home.address()
            if address is not None and address.url != url:
                url = address.url
                place.point_at(url)
            await pause(LOOK_EVERY_S)

    async def _talk(self, driver: Driver) -> None:
        """Say round after round until every kill has happened, or there is no hope for it."""
        most = max(1, len(self._kills) + 1)
        while self._rounds < most and (self._rounds == 0 or len(self._fired) < len(self._kills)):
            self._rounds += 1
            async with asyncio.TaskGroup() as group:
                for conversation in self._script.round():
                    group.create_task(driver.talk(conversation))
        self._talked.set()

    async def _run_gateways(self) -> GatewayProcess:
        """Start a gateway for every kill, and a last one that lives."""
        for kill in self._kills:
            process = await self._start(kill)
            if not await self._ends(process, kill):
                process.send(signal.SIGKILL)
                await process.wait()
                break
            self._fired.append(kill)
            self._audit()
        last = await self._start(Kill())
        await self._race(last.ended.wait(), self._talked.wait())
        self._check_alive(last)
        return last

    def _audit(self) -> None:
        """Look into the books as the dead gateway left them."""
        found = audit(self._home.folder)
        assert not found, f"after {self._fired[-1]}: {found}"
        self._audits += found is not None

    async def _start(self, kill: Kill) -> GatewayProcess:
        self._starts += 1
        (self._home.folder / "run" / "gateway.json").unlink(missing_ok=True)
        return await self._forks.start(self._home, failpoints=kill.armed, power_cut=kill.power_cut)

    async def _ends(self, process: GatewayProcess, kill: Kill) -> bool:
        """Wait for the kill; false when everything was said and it had not happened."""
        if kill.after_s is not None:
            await self._race(process.ended.wait(), asyncio.sleep(kill.after_s))
            self._check_alive(process)
            process.send(signal.SIGKILL)
            await process.wait()
            return True
        await self._race(process.ended.wait(), self._talked.wait())
        if not process.ended.is_set():
            return False
        expected = EXIT_POWER_CUT << 8 if kill.power_cut is not None else signal.SIGKILL
        assert process.status == expected, f"the gateway ended with {process.status} by itself"
        return True

    def _check_alive(self, process: GatewayProcess) -> None:
        assert not process.ended.is_set(), f"the gateway ended with {process.status} by itself"

    async def _race(self, *waits: Coroutine[None, None, object]) -> None:
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _is_settled(self) -> bool:
        """Tell whether nothing is open but lanes that wait for a person."""
        return open_work(self._home.folder) <= {WAITS}

    async def _settle(self, driver: Driver) -> None:
        """Wait until nothing is open any more; what waits for a person is approved."""
        for _ in range(20):
            try:
                await until(self._is_settled, "settling", within_s=SETTLE_S, every_s=LOOK_EVERY_S)
            except AssertionError as error:
                raise AssertionError(
                    f"{self._script.tag}: {open_work(self._home.folder)}: {error}\n{self._home.log()}"
                ) from error
            if not open_work(self._home.folder):
                return
            for said in self._script.approvals():
                await driver.say(said)
        raise AssertionError(f"{self._script.tag}: a turn waits for an approval for ever")


WAITS = "waits for a person"
_OPEN = """
SELECT CASE WHEN waiting_on IS NULL THEN state ELSE 'waits for a person' END
    FROM inbox JOIN lanes ON lanes.key = inbox.lane WHERE state <> 'done'
UNION SELECT 'delivery ' || state FROM outbox
    WHERE state NOT IN ('sent', 'dead') AND NOT (state = 'unknown' AND held = 1)
UNION SELECT 'job' FROM jobs WHERE due_at IS NOT NULL
"""


def open_work(folder: Path) -> set[str]:
    """Return the states of everything in a home that has not come to its end."""
    with tables(folder, read_only=True) as found:
        return {str(row[0]) for row in found.rows(_OPEN)}


def _first_of(error: BaseException) -> BaseException:
    """Return the first error inside a group of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
