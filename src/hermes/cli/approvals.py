"""`hermes approvals`: tool calls that wait for approval; `approve` and `deny` decide one."""

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.operator_calls import call, operator_name
from hermes.cli.terminal import AsJson, Home, clean, examples, print_done, print_report
from hermes.control.approvals import (
    ApprovalLine,
    ApprovalOrder,
    ApprovalReport,
    ApprovalsAsk,
    ApprovalsReport,
)
from hermes.control.order import Order
from hermes.control.orders import APPROVALS_APPROVE, APPROVALS_DENY, APPROVALS_LIST
from hermes.control.why_answer import clock_time
from hermes.errors import NotFound

LIST_EPILOG = examples("hermes approvals", "hermes approvals list --json")
APPROVE_EPILOG = examples(
    "hermes approvals approve a_0k3v9c2h6l1g", "hermes approvals approve 6l1g"
)
DENY_EPILOG = examples("hermes approvals deny a_0k3v9c2h6l1g")
ApprovalId = Annotated[
    str, typer.Argument(metavar="APPROVAL", help="The approval's id, or its beginning or end.")
]


def list_all(home: Home = None, as_json: AsJson = False) -> None:
    """List what waits for approval: the tool with its arguments, who asked, and until when."""
    report = call(home, APPROVALS_LIST, ApprovalsAsk(), empty=ApprovalsReport)
    print_report(report, _print, as_json=as_json)


def approve(approval: ApprovalId, *, home: Home = None, as_json: AsJson = False) -> None:
    """Allow a tool call; its turn continues."""
    report = _decide(home, APPROVALS_APPROVE, approval)
    print_done(report, f"{report.tool} may run ({report.id}).", as_json=as_json)


def deny(approval: ApprovalId, *, home: Home = None, as_json: AsJson = False) -> None:
    """Refuse a tool call; its turn continues without it."""
    report = _decide(home, APPROVALS_DENY, approval)
    print_done(report, f"{report.tool} may not run ({report.id}).", as_json=as_json)


def _decide(
    home: Home, order: Order[ApprovalOrder, ApprovalReport], approval: str
) -> ApprovalReport:
    def nothing() -> ApprovalReport:
        raise NotFound("Nothing waits for approval: nothing is stored here yet.")

    return call(home, order, ApprovalOrder(id=approval, by=operator_name()), empty=nothing)


def _print(report: ApprovalsReport, out: Console) -> None:
    if not report.approvals:
        out.print("Nothing waits for approval.")
        return
    for one in report.approvals:
        _print_one(one, out)


def _print_one(one: ApprovalLine, out: Console) -> None:
    until = clock_time(one.expires_at)
    out.print(Text(clean(f"{one.id}  {one.tool}  for {one.user}  until {until}")), soft_wrap=True)
    asked = one.question or "(what was asked is not kept)"
    out.print(Text(clean(f"    {asked}"), style="dim"), soft_wrap=True)
    if one.is_question:
        note = "    Only the person can answer this, in their chat."
        out.print(Text(note, style="dim"))
