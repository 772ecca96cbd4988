"""`make torture`: every failpoint with every seed, random kills and power cuts, counted.

`python -m tests.torture --help` says how to make it smaller, larger, or go on where it stopped.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hermes.ports.clock import SystemClock
from tests.torture.campaign import Campaign, Worker, read_state
from tests.torture.failpoint_names import examine_package
from tests.torture.plan import Plan, reachable
from tests.torture.processes import ROOT

STATE = ROOT / "build" / "torture.jsonl"
QUIET_EVERY_S = 20.0
FINE, BROKEN, UNFINISHED = 0, 1, 3


def read_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return what the run is to do."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="kills at every failpoint")
    parser.add_argument("--kills", type=int, default=2000, help="kills at random moments")
    parser.add_argument("--cuts", type=int, default=600, help="power cuts")
    parser.add_argument("--workers", type=int, default=2, help="processes that tell stories")
    parser.add_argument("--at-once", type=int, default=6, help="stories at a time in each")
    parser.add_argument("--minutes", type=float, default=120.0, help="start nothing after this")
    parser.add_argument("--seed", type=int, default=0, help="of the order and of every choice")
    parser.add_argument("--resume", action="store_true", help="go on where the last run stopped")
    parser.add_argument("--folder", type=Path, default=None, help="where homes are made")
    return parser.parse_args(arguments)


class Screen:
    """A bar on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._clock = SystemClock()
        self._told_at = self._clock.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("kills", total=None)

    def show(self, plan: Plan) -> None:
        """Show how far it is."""
        done, wanted = plan.done.total(), plan.wanted.total()
        self._bar.update(self._task, completed=done, total=wanted)
        now = self._clock.monotonic()
        if not self._console.is_terminal and now - self._told_at >= QUIET_EVERY_S:
            self._told_at = now
            self._console.print(f"{done} of {wanted} kills, {len(plan.problems)} problems")

    def __enter__(self) -> "Screen":
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.stop()


async def run(options: argparse.Namespace, console: Console, *, folder: Path) -> int:
    """Run it all; returns the exit code."""
    found = examine_package(ROOT / "src" / "hermes")
    if found.problems:
        console.print("Without a failpoint:", *found.problems, sep="\n  ")
        return BROKEN
    plan = Plan(seed=options.seed)
    workers = [await Worker.start(folder) for _ in range(options.workers)]
    try:
        with Screen(console) as screen:
            campaign = Campaign(
                workers,
                at_once=options.at_once,
                state=STATE,
                tell=screen.show,
                seconds=options.minutes * 60,
            )
            passed = await campaign.survey()
            points = reachable(found.points())
            assert points <= set(passed), f"not passed: {sorted(points - set(passed))}"
            plan.add_failpoints(points, seeds=options.seeds, passed=passed)
            plan.add_random(options.kills)
            plan.add_power_cuts(options.cuts)
            plan.mix()
            plan.forget(read_state(STATE) if options.resume else {})
            await campaign.run(plan)
    finally:
        await asyncio.gather(*(worker.stop() for worker in workers))
    direct = await _store_kills(options.seeds, folder=folder)
    return _report(plan, console, direct=direct, is_late=campaign.is_late)


async def _store_kills(seeds: int, *, folder: Path) -> int | str:
    """Kill inside the units that no conversation reaches; returns how often, or what failed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.torture.store_kills",
        str(folder / "store"),
        str(seeds),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    out, problem = await process.communicate()
    return int(out) if process.returncode == 0 else problem.decode()


def _report(plan: Plan, console: Console, *, direct: int | str, is_late: bool) -> int:
    for problem in plan.problems:
        console.print(problem, markup=False)
    for point in sorted(plan.by_point):
        console.print(f"  {plan.by_point[point]:5}  {point}", highlight=False)
    console.print(
        f"kills at failpoints: {plan.done['failpoint']} of {plan.wanted['failpoint']}, "
        f"at {len(plan.by_point)} failpoints\n"
        f"kills at random moments: {plan.done['random']} of {plan.wanted['random']}\n"
        f"power cuts: {plan.done['power cut']} of {plan.wanted['power cut']}\n"
        f"kills inside store units directly: {direct}\n"
        f"{plan.stories} stories, {plan.messages} messages, {plan.calls} real model calls, "
        f"{plan.posts} real posts\n"
        f"{plan.captures} credits paid, {plan.refused} messages refused for want of one, "
        f"{plan.audits} audits of the wallets\n"
        f"{plan.facts} facts learnt in {plan.lessons} lessons\n"
        f"the model left alone {plan.rests} times, {plan.denials} approvals denied by a new message\n"
        f"books that did not balance: {len(plan.problems)}",
        highlight=False,
        markup=False,
    )
    if plan.unreached:
        console.print("never reached:", *(kill.armed for kill in plan.unreached), sep="\n  ")
    if plan.problems or plan.unreached or isinstance(direct, str):
        return BROKEN
    if plan.done.total() < plan.wanted.total() and is_late:
        console.print("The time was up before everything was done: RESUME=1 goes on from here.")
        return UNFINISHED
    return FINE


def main() -> int:
    """Run the campaign in a folder that is removed when everything was fine."""
    options = read_arguments()
    console = Console(stderr=False, soft_wrap=True)
    clock = SystemClock()
    started = clock.monotonic()
    STATE.parent.mkdir(exist_ok=True)
    if not options.resume:
        STATE.unlink(missing_ok=True)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="hermes-torture-"))
    code = asyncio.run(run(options, console, folder=folder))
    console.print(f"took {clock.monotonic() - started:.0f} s")
    if code != BROKEN:
        shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
