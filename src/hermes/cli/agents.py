"""`hermes agents`: the agents of config.yaml, and those that are made while Hermes runs."""

from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.environment import home_for, settings_for
from hermes.cli.operator_calls import call, operator_name
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Wide,
    clean,
    error_console,
    examples,
    print_done,
    print_fields,
    print_report,
)
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
    NewAgent,
    NewRemoteAgent,
    Revert,
    VersionsAsk,
    VersionsReport,
)
from hermes.control.agents import agents_in_file
from hermes.control.orders import (
    AGENTS_ADD_REMOTE,
    AGENTS_CHANGE,
    AGENTS_CREATE,
    AGENTS_DELETE,
    AGENTS_DIFF,
    AGENTS_LIST,
    AGENTS_READ,
    AGENTS_REVERT,
    AGENTS_SHOW,
    AGENTS_START,
    AGENTS_STOP,
    AGENTS_SWAP,
    AGENTS_VERSIONS,
)
from hermes.control.why_answer import clock_time
from hermes.errors import BadRequest
from hermes.lazy import lazy
from hermes.ops.instance import find_running

if TYPE_CHECKING:
    from hermes.config.change import read_value
else:
    # It reads YAML, which a list of agents need not pay for.
    read_value = lazy("hermes.config.change:read_value")

LIST_EPILOG = examples("hermes agents list", "hermes agents list --state failed --json")
CREATE_EPILOG = examples(
    'hermes agents create helper --model openai:gpt-4o-mini --role "a helper for the shop"',
    "hermes agents create auditor --fields auditor.json",
)
ADD_REMOTE_EPILOG = examples(
    "hermes agents add-remote https://agents.example.com/weather",
    "hermes agents add-remote https://agents.example.com/weather --name weather --secret WEATHER_KEY",
)
SHOW_EPILOG = examples("hermes agents show helper", "hermes agents show helper --json")
EDIT_EPILOG = examples(
    "hermes agents edit helper --model anthropic:claude-sonnet-4-5",
    "hermes agents edit helper --set temperature=0.2 --set max_output_tokens=500",
    "hermes agents edit helper --unset temperature",
)
DELETE_EPILOG = examples(
    "hermes agents delete helper", "hermes agents delete helper --grace 0 --yes"
)
STOP_EPILOG = examples("hermes agents stop helper")
START_EPILOG = examples("hermes agents start helper")
HISTORY_EPILOG = examples("hermes agents history helper")
DIFF_EPILOG = examples(
    "hermes agents diff helper   (the last change)", "hermes agents diff helper --old 1 --new 3"
)
REVERT_EPILOG = examples("hermes agents revert helper 2")
SWAP_EPILOG = examples("hermes agents swap coder codex_local --preserve-cwd")
_COLUMNS = (
    Column("id", "id"),
    Column("name"),
    Column("called", rank=4),
    Column("state", "state"),
    Column("model"),
    Column("tools", rank=2),
    Column("answers", rank=1),
    Column("about", rank=3),
)
_VERSIONS = (
    Column("version", "id"),
    Column("when"),
    Column("who", rank=1),
    Column("changed"),
    Column("note", rank=2),
)
_LOOKS = 100
_LOOK_S = 0.1
_Request = TypeVar("_Request", bound=AgentFields)
AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's name or id.")]
Model = Annotated[
    str | None, typer.Option(help="Its model, such as openai:gpt-4o-mini.", show_default=False)
]
Role = Annotated[
    str | None, typer.Option(help="Its role for the people it serves.", show_default=False)
]
Fields = Annotated[
    Path | None,
    typer.Option(
        "--fields",
        help="A JSON file with the fields of the agent, as under `agents` in config.yaml.",
        exists=True,
        dir_okay=False,
        show_default=False,
    ),
]
Given = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="FIELD=VALUE", help="A field, as `hermes config set agents.NAME.FIELD`."
    ),
]
Note = Annotated[str, typer.Option(help="Why; kept with the version.", show_default=False)]


def list_all(
    *,
    state: Annotated[
        str, typer.Option(help="Only agents in this state, such as failed.", show_default=False)
    ] = "",
    after: Annotated[
        str, typer.Option(help="Continue the list after this name.", show_default=False)
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="List at most this many.")] = 100,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List the agents: their state, their model, their tools, and the rules that choose them."""
    report = call(
        home,
        AGENTS_LIST,
        AgentsAsk(state=state, after=after, limit=limit),
        empty=lambda: agents_in_file(settings_for(home).settings),
    )
    print_report(report, _print, as_json=as_json, wide=wide)


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="How the agent is called.")],
    *,
    model: Model = None,
    role: Role = None,
    fields: Fields = None,
    given: Given = None,
    note: Note = "",
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Create an agent. It answers once its model was checked, also after a restart."""
    said = _said(fields, given, model=model, role=role)
    new = _request(NewAgent, said, name=name, note=note, by=operator_name())
    made = call(home, AGENTS_CREATE, new)
    line = _checked(home, made)
    print_done(line, f"Created {line.name} ({line.id}): {_state_words(line)}.", as_json=as_json)


def add_remote(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="The address of the agent, or of its agent card.")
    ],
    *,
    name: Annotated[
        str,
        typer.Option(help="How it is called here; default: as its card says.", show_default=False),
    ] = "",
    secret: Annotated[
        str,
        typer.Option(
            help="The name of the stored secret that is its key (`hermes secrets set`).",
            show_default=False,
        ),
    ] = "",
    note: Note = "",
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Add an agent of another system, which is called over A2A."""
    new = NewRemoteAgent(url=url, name=name, secret=secret, note=note, by=operator_name())
    line = _checked(home, call(home, AGENTS_ADD_REMOTE, new))
    print_done(line, f"Added {line.name} ({line.id}): {_state_words(line)}.", as_json=as_json)


def show(agent: AgentName, home: Home = None, as_json: AsJson = False) -> None:
    """Show an agent with everything that is set of it."""
    print_report(call(home, AGENTS_READ, AgentAsk(id=agent)), _show, as_json=as_json)


def edit(
    agent: AgentName,
    *,
    model: Model = None,
    role: Role = None,
    fields: Fields = None,
    given: Given = None,
    unset: Annotated[
        list[str] | None,
        typer.Option("--unset", metavar="FIELD", help="A field that gets its default again."),
    ] = None,
    rename: Annotated[str | None, typer.Option(help="A new name.", show_default=False)] = None,
    note: Note = "",
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Change an agent. Turns that begin from now on have the change; each change is a version."""
    said: dict[str, Any] = _said(fields, given, model=model, role=role)
    said |= dict.fromkeys(unset or ())
    beside = {} if rename is None else {"name": rename}
    if not said and not beside:
        raise typer.BadParameter("name what to change: --model, --set, --unset, --fields, --rename")
    change = _request(AgentChange, said, id=agent, note=note, by=operator_name(), **beside)
    made = call(home, AGENTS_CHANGE, change)
    print_done(made, f"{made.name} is at version {made.version} now.", as_json=as_json)


def delete(
    agent: AgentName,
    *,
    grace: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds in which running and waiting turns may end; default: "
            "workspaces.delete_grace_s.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Delete an agent after a time in which its running and waiting turns end."""
    if not yes:
        typer.confirm(
            f"Delete the agent {clean(agent)} with all its versions?", abort=True, err=True
        )
    end = AgentEnd(id=agent, grace_s=grace, by=operator_name())
    line = call(home, AGENTS_DELETE, end)
    when = "" if line.delete_at is None else clock_time(line.delete_at)
    text = f"{line.name} takes no more messages and is deleted at {when}; `hermes agents start "
    print_done(line, f"{text}{line.name}` cancels that.", as_json=as_json)


def stop(agent: AgentName, home: Home = None, as_json: AsJson = False) -> None:
    """Let an agent take no more messages until it is started again; running turns end."""
    line = call(home, AGENTS_STOP, AgentOrder(id=agent, by=operator_name()))
    print_done(line, f"{line.name}: {_state_words(line)}.", as_json=as_json)


def start(agent: AgentName, home: Home = None, as_json: AsJson = False) -> None:
    """Check the model of an agent and let it answer again; a deletion to come is cancelled."""
    line = call(home, AGENTS_START, AgentOrder(id=agent, by=operator_name()))
    line = _checked(home, line)
    print_done(line, f"{line.name}: {_state_words(line)}.", as_json=as_json)


def history(
    agent: AgentName,
    *,
    before: Annotated[
        int | None, typer.Option(min=1, help="Only versions before this one.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="List at most this many.")] = 50,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List the versions of an agent: who changed which fields, and when."""
    report = call(home, AGENTS_VERSIONS, VersionsAsk(id=agent, before=before, limit=limit))
    print_report(report, _print_versions, as_json=as_json, wide=wide)


def diff(
    agent: AgentName,
    *,
    old: Annotated[
        int | None, typer.Option(min=1, help="The one before `new` by default.", show_default=False)
    ] = None,
    new: Annotated[
        int | None, typer.Option(min=1, help="The newest by default.", show_default=False)
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Compare two versions of an agent; by default, show the last change."""
    report = call(home, AGENTS_DIFF, DiffAsk(id=agent, old=old, new=new))
    print_report(report, _print_diff, as_json=as_json)


def revert(
    agent: AgentName,
    version: Annotated[int, typer.Argument(min=1, metavar="VERSION", help="The earlier version.")],
    *,
    note: Note = "",
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Give an agent the fields of an earlier version again, as its next version."""
    order = Revert(id=agent, version=version, note=note, by=operator_name())
    made = call(home, AGENTS_REVERT, order)
    text = f"{made.name} is at version {made.version} now, with the fields of version {version}."
    print_done(made, text, as_json=as_json)


def swap(
    agent: AgentName,
    adapter: Annotated[
        str, typer.Argument(metavar="ADAPTER", help="Its name in `adapters`, or hermes.")
    ],
    *,
    preserve_cwd: Annotated[
        bool,
        typer.Option(
            "--preserve-cwd", help="Go on in the same working folders, not in empty ones."
        ),
    ] = False,
    note: Note = "",
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Let another adapter answer for an agent: the next turn begins on it, if it can be called."""
    order = AgentSwap(
        id=agent, runtime=adapter, preserve_cwd=preserve_cwd, note=note, by=operator_name()
    )
    made = call(home, AGENTS_SWAP, order)
    text = (
        f"{made.name} is answered by {made.runtime} from its next turn on (version {made.version})."
    )
    print_done(made, text, as_json=as_json)


def _checked(home: Path | None, line: AgentLine) -> AgentLine:
    """Return an agent once a running gateway has checked its model, or as it is after a while."""
    if find_running(home_for(home)) is None:
        return line
    with error_console().status(f"Checking the model of {line.name}"):
        for _ in range(_LOOKS):
            if line.status != "provisioning":
                break
            Event().wait(_LOOK_S)
            line = call(home, AGENTS_SHOW, AgentAsk(id=line.id))
    return line


# Any: fields as the file or the option has them.
def _said(fields: Path | None, given: list[str] | None, **options: str | None) -> dict[str, Any]:
    said = {} if fields is None else _loaded(fields)
    for one in given or ():
        name, equals, value = one.partition("=")
        if not equals:
            raise typer.BadParameter(f"{clean(one)!r} is not FIELD=VALUE", param_hint="--set")
        said[name] = _read(name, value)
    return said | {name: value for name, value in options.items() if value is not None}


def _loaded(path: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(
            f'{path} cannot be read as the fields of an agent, such as {{"tone": "chill"}}: {error}'
        ) from None


# Any: a field as JSON has it.
def _read(field: str, text: str) -> Any:
    _check_field(field)
    if field == "runtime":
        return text
    if field == "shared":
        return {"true": True, "false": False}.get(text, text)
    value = read_value(("agents", "name", field), text)
    # A number out of bounds is left as text; the gateway says which bounds they are.
    return _number(text) if value == text else value


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _check_field(field: str) -> None:
    known = sorted(one.name for one in msgspec.structs.fields(AgentFields))
    if field not in known:
        raise BadRequest(
            f"An agent has no field {field[:80]!r}; the fields are: {', '.join(known)}."
        )


# Any: fields as JSON has them.
def _request(kind: type[_Request], said: dict[str, Any], **beside: str) -> _Request:
    for field in said:
        _check_field(field)
    try:
        return msgspec.convert({**said, **beside}, kind)
    except msgspec.ValidationError as error:
        raise BadRequest(f"The fields are not valid: {error}") from None


def _state_words(line: AgentLine) -> str:
    if line.status == "provisioning":
        return "its model is checked by the gateway, now or at its next start"
    return f"{line.status}: {line.reason}" if line.reason else line.status


def _print(report: AgentsReport, out: Console) -> None:
    print_table(out, _COLUMNS, map(_cells, report.workspaces))
    if report.after:
        out.print(Text(f"More: hermes agents list --after {clean(report.after)}", style="dim"))


def _cells(line: AgentLine) -> tuple[str, ...]:
    answers = [*(["all other messages"] if line.is_default else []), *line.rules]
    return (
        line.id,
        line.name,
        line.called,
        line.status,
        line.model or "default",
        "all" if line.tools == ("*",) else ", ".join(line.tools) or "none",
        "; ".join(answers) or "only where it is named",
        line.description,
    )


def _show(report: AgentReport, out: Console) -> None:
    place = "config.yaml" if report.source == "file" else f"version {report.version}"
    lines = [("id", report.id), ("name", report.name), ("state", _state_words(report))]
    lines += [("from", place)]
    if report.delete_at is not None:
        lines.append(("deleted at", clock_time(report.delete_at)))
    known = {name for name, _ in lines}
    shown = {name: one for name, one in report.settings.items() if name not in known}
    print_fields(out, (*lines, *((name, _value(one)) for name, one in shown.items())))


# Any: JSON.
def _value(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _print_versions(report: VersionsReport, out: Console) -> None:
    rows = (
        (str(one.version), clock_time(one.at), one.author, ", ".join(one.changed), one.note)
        for one in report.versions
    )
    print_table(out, _VERSIONS, rows)


def _print_diff(report: DiffReport, out: Console) -> None:
    for one in report.fields:
        out.print(Text(one.field, style="bold"))
        for mark, value in (("-", one.old), ("+", one.new)):
            if value is not None:
                out.print(Text(f"  {mark} {clean(_value(value))}"))
    if not report.fields:
        out.print(f"Versions {report.old} and {report.new} are the same.")
