"""`hermes cron list|add|show|pause|resume|run|remove`: the scheduled jobs of all people."""

from typing import Annotated

import typer
from rich.console import Console

from hermes.cli.operator_calls import call, operator_name
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Wide,
    clean,
    console,
    examples,
    print_done,
    print_fields,
    print_json,
)
from hermes.control.cron import (
    JobAsk,
    JobLine,
    JobOrder,
    JobReport,
    JobsAsk,
    JobsReport,
    NewJobOrder,
)
from hermes.control.order import Order
from hermes.control.orders import (
    CRON_ADD,
    CRON_LIST,
    CRON_PAUSE,
    CRON_REMOVE,
    CRON_RESUME,
    CRON_RUN,
    CRON_SHOW,
)
from hermes.control.why_answer import clock_time
from hermes.errors import NotFound
from hermes.message.owner import OWNER_CHAT, WEB_OWNER

LIST_EPILOG = examples("hermes cron list", "hermes cron list --user telegram:4711 --json")
ADD_EPILOG = examples(
    'hermes cron add telegram:4711 "every weekday at 9 in Berlin" "What is on today?"',
    'hermes cron add rest:ann "0 9 * * 1-5 Europe/Berlin" "Summarise the news" --to slack:C042',
    'hermes cron add rest:ann "tomorrow at 18:30" "Remind me to call Bob"',
)
SHOW_EPILOG = examples("hermes cron show 4g2k", "hermes cron show j_0k3v9c2h6l1g --output")
PAUSE_EPILOG = examples("hermes cron pause j_0k3v9c2h6l1g")
RESUME_EPILOG = examples("hermes cron resume j_0k3v9c2h6l1g")
RUN_EPILOG = examples("hermes cron run j_0k3v9c2h6l1g", "hermes cron run 4g2k --json")
REMOVE_EPILOG = examples("hermes cron remove j_0k3v9c2h6l1g")
_COLUMNS = (
    Column("id", "id"),
    Column("state", "state"),
    Column("of", rank=3),
    Column("when", rank=2),
    Column("next", "time"),
    Column("last", "state", rank=4),
    Column("missed", "number", rank=5),
    Column("what", rank=1),
)
JobId = Annotated[str, typer.Argument(metavar="JOB", help="The job's id, or its beginning or end.")]


def list_all(
    *,
    user: Annotated[
        str, typer.Option("--user", help="Only jobs of PLATFORM:USER_ID.", show_default=False)
    ] = "",
    limit: Annotated[int, typer.Option("--limit", help="At most this many jobs.")] = 200,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List scheduled jobs, the next to run first, with the runs that were missed."""
    ask = JobsAsk(user=user, limit=limit)
    report = call(home, CRON_LIST, ask, empty=JobsReport)
    if as_json:
        print_json(report)
    else:
        _print_jobs(report.jobs, console(wide=wide))


def add(
    user: Annotated[
        str,
        typer.Argument(
            metavar="USER", help="The person who owns the job and pays for it: PLATFORM:USER_ID."
        ),
    ],
    when: Annotated[
        str, typer.Argument(metavar="WHEN", help="In plain words, or as a cron expression.")
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The prompt for the agent.")],
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="Where the answer goes: origin, local, PLATFORM or PLATFORM:CHAT[:THREAD].",
        ),
    ] = "origin",
    chat: Annotated[
        str,
        typer.Option(
            "--chat",
            help="The direct chat it runs in; by default the person's own.",
            show_default=False,
        ),
    ] = "",
    agent: Annotated[
        str, typer.Option("--agent", help="The agent that answers.", show_default=False)
    ] = "",
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Schedule a job for a person."""
    order = NewJobOrder(
        user=user, when=when, text=text, to=to, chat=chat, agent=agent, by=operator_name()
    )
    report = call(home, CRON_ADD, order)
    said = f"{report.job.id} is scheduled: {report.job.when}, next: {report.job.next}"
    if report.job.user == ":".join(WEB_OWNER) and report.job.target == "origin":
        said += f'\nIts answers appear in the web chat, in the conversation "{OWNER_CHAT}".'
    print_done(report, said, as_json=as_json)


def show(
    job: JobId,
    *,
    output: Annotated[
        bool, typer.Option("--output", help="Also print the whole answer of the last run.")
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show one job."""
    ask = JobAsk(id=job, output=output)

    def nothing() -> JobReport:
        raise NotFound(f"There is no job {job[:40]!r}: nothing is stored here yet.")

    report = call(home, CRON_SHOW, ask, empty=nothing)
    if as_json:
        print_json(report)
    elif report.output is not None:
        print(clean(report.output))
    else:
        _print_job(report.job, console())


def pause(job: JobId, *, home: Home = None, as_json: AsJson = False) -> None:
    """Pause a job until it is resumed."""
    report = _order(home, CRON_PAUSE, job)
    print_done(report, f"{report.job.id} is paused.", as_json=as_json)


def resume(job: JobId, *, home: Home = None, as_json: AsJson = False) -> None:
    """Resume a paused job; missed runs are not made up."""
    report = _order(home, CRON_RESUME, job)
    print_done(report, f"{report.job.id} runs again, next: {report.job.next}", as_json=as_json)


def run(job: JobId, *, home: Home = None, as_json: AsJson = False) -> None:
    """Run a job now, in addition to its schedule."""
    report = _order(home, CRON_RUN, job)
    text = (
        f"{report.job.id} runs as {report.message_id}: `hermes why {report.message_id}` shows more."
    )
    print_done(report, text, as_json=as_json)


def remove(job: JobId, *, home: Home = None, as_json: AsJson = False) -> None:
    """Delete a job; its earlier answers are kept."""
    report = _order(home, CRON_REMOVE, job)
    print_done(report, f"{report.job.id} is removed.", as_json=as_json)


def _order(home: Home, order: Order[JobOrder, JobReport], job: str) -> JobReport:
    return call(home, order, JobOrder(id=job, by=operator_name()))


def _print_jobs(jobs: tuple[JobLine, ...], out: Console) -> None:
    if not jobs:
        out.print("There are no scheduled jobs. `hermes cron add --help` shows how to add one.")
        return
    rows = (
        (
            job.id,
            job.state,
            job.user,
            job.when,
            job.next_at,
            job.outcome or ("" if job.last_at is None else "forgotten"),
            str(job.missed) if job.missed else "",
            job.text,
        )
        for job in jobs
    )
    print_table(out, _COLUMNS, rows)


def _print_job(job: JobLine, out: Console) -> None:
    state = f"{job.state} ({job.reason})" if job.reason else job.state
    lines = [
        ("job", job.id),
        ("state", state),
        ("of", f"{job.user} ({job.person_id})"),
        ("when", job.when),
        ("next", job.next or "no further run"),
        ("to", job.target),
        ("made", clock_time(job.created_at)),
        ("runs", str(job.runs)),
        ("missed", _missed(job)),
        ("last", _last(job)),
        ("what", job.text),
    ]
    print_fields(out, lines)


def _missed(job: JobLine) -> str:
    if job.missed_at is None:
        return "none"
    return f"{job.missed}, reported with the run of {clock_time(job.missed_at)}"


def _last(job: JobLine) -> str:
    if job.last_at is None:
        return "has not run yet"
    outcome = job.outcome or "the message is no longer kept"
    return f"{clock_time(job.last_at)}: {outcome} (`hermes why {job.last_message}`)"
