"""`hermes agents`: the agents of the configuration."""

from rich.console import Console

from hermes.cli.environment import settings_for
from hermes.cli.operator_calls import call
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import AsJson, Home, Wide, examples, print_report
from hermes.control.agents import AgentLine, AgentsReport, agents_report
from hermes.control.order import NoFields
from hermes.control.orders import AGENTS_LIST

LIST_EPILOG = examples("hermes agents", "hermes agents list --json")
_COLUMNS = (
    Column("agent", "id"),
    Column("name", rank=3),
    Column("model"),
    Column("tools", rank=2),
    Column("answers"),
    Column("about", rank=1),
)


def list_all(home: Home = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """List the agents: their model, their tools, and the rules that choose them."""
    report = call(
        home, AGENTS_LIST, NoFields(), empty=lambda: agents_report(settings_for(home).settings)
    )
    print_report(report, _print, as_json=as_json, wide=wide)


def _print(report: AgentsReport, out: Console) -> None:
    print_table(out, _COLUMNS, map(_cells, report.agents))


def _cells(line: AgentLine) -> tuple[str, ...]:
    answers = [*(["all other messages"] if line.is_default else []), *line.rules]
    return (
        line.agent,
        line.name,
        line.model or "default",
        "all" if line.tools == ("*",) else ", ".join(line.tools) or "none",
        "; ".join(answers) or "only where it is named",
        line.description,
    )
