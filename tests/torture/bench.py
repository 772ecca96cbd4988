"""Where stories are told: one fork server and one set of stand-ins, for many stories at a time."""

import asyncio
import shutil
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from tests.torture.books import Books
from tests.torture.checks import BooksDoNotBalance, check_books
from tests.torture.homes import Mode
from tests.torture.processes import Forks
from tests.torture.stand_ins import StandIns, stand_ins
from tests.torture.story import Kill, Story, Told
from tests.torture.wallet_checks import is_unpaid


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A story to be told: all of it follows from these values and the machine's timing."""

    number: int
    seed: int
    mode: Mode
    kills: tuple[Kill, ...]
    synchronous: str = "FULL"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How a story ended; `problem` is empty when its books balance."""

    job: Job
    fired: tuple[Kill, ...] = ()
    missed: tuple[Kill, ...] = ()
    messages: int = 0
    starts: int = 0
    posts: int = 0
    calls: int = 0
    audits: int = 0
    captures: int = 0
    refused: int = 0
    facts: int = 0
    lessons: int = 0
    rests: int = 0
    denials: int = 0
    passed: tuple[str, ...] = ()
    problem: str = ""


class Bench:
    """Tells stories side by side, in folders below `folder`."""

    def __init__(self, folder: Path, forks: Forks, stand_ins: StandIns) -> None:
        self._folder = folder
        self._forks = forks
        self._stand_ins = stand_ins

    async def run(self, job: Job) -> Result:
        """Tell one story and check its books; the folder of one that failed is kept."""
        folder = self._folder / f"story-{job.number}"
        try:
            told = await self.tell(job, folder)
            result = self.check(job, told)
        except Exception as error:  # noqa: BLE001  story boundary: the others go on
            where = f"story {job.number} (seed {job.seed}, {job.mode}) in {folder}"
            what = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
            return Result(job=job, missed=job.kills, problem=f"{where}:\n{what}")
        shutil.rmtree(folder)
        return result

    async def tell(self, job: Job, folder: Path) -> Told:
        """Tell one story."""
        story = Story(
            folder,
            job.mode,
            tag=f"s{job.number}",
            seed=job.seed,
            kills=job.kills,
            forks=self._forks,
            stand_ins=self._stand_ins,
            synchronous=job.synchronous,
        )
        return await story.tell()

    def check(self, job: Job, told: Told) -> Result:
        """Check the books of a story; raises `BooksDoNotBalance`."""
        books = Books(told.home, names=told.driver.names)
        calls = self._stand_ins.calls(f"{told.tag}-")
        posted = told.place.posted({delivery.chat for delivery in books.deliveries})
        try:
            check_books(books, told.driver, calls=calls, posted=posted, place=told.place)
        except BooksDoNotBalance as error:
            happened = [kill.armed or str(kill.after_s or kill.power_cut) for kill in told.fired]
            raise BooksDoNotBalance(f"after {happened}:\n{error}") from None
        return Result(
            job=job,
            fired=told.fired,
            missed=told.missed,
            messages=len(books.messages),
            starts=told.starts,
            posts=len(posted),
            calls=calls.total(),
            audits=told.audits,
            captures=sum(row[1] == "capture" for row in books.ledger),
            refused=sum(map(is_unpaid, books.messages)),
            facts=len(books.facts),
            lessons=books.lessons,
            rests=told.home.rests(),
            denials=len(books.denials),
            passed=tuple(told.home.trace.read_text().split()),
        )

    async def run_all(self, jobs: list[Job], *, at_once: int) -> list[Result]:
        """Tell stories, at most `at_once` at a time."""
        places = asyncio.Semaphore(at_once)

        async def one(job: Job) -> Result:
            async with places:
                return await self.run(job)

        return list(await asyncio.gather(*(one(job) for job in jobs)))


@asynccontextmanager
async def open_bench(folder: Path) -> AsyncIterator[Bench]:
    """Run the fork server and the stand-ins for as long as stories are told."""
    forks = Forks()
    await forks.open()
    try:
        async with stand_ins() as made:
            yield Bench(folder, forks, made)
    finally:
        await forks.close()
