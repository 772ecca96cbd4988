"""`hermes credits show|list|grant|refund|refer|audit`: people's credits and the ledger."""

from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.operator_calls import call, operator_name
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Person,
    Wide,
    clean,
    console,
    examples,
    print_json,
    print_report,
)
from hermes.control.consent import unknown_person
from hermes.control.credits import (
    BookedReport,
    GrantOrder,
    ReferOrder,
    RefundOrder,
    WalletAsk,
    WalletReport,
    WalletsAsk,
    WalletsReport,
)
from hermes.control.order import NoFields
from hermes.control.orders import (
    CREDITS_AUDIT,
    CREDITS_GRANT,
    CREDITS_LIST,
    CREDITS_REFER,
    CREDITS_REFUND,
    CREDITS_SHOW,
)
from hermes.control.why_answer import clock_time
from hermes.errors import NotFound
from hermes.message.referral_code import spoken
from hermes.people.wallet import in_credits
from hermes.ports.wallet import Audit, LedgerLine, Wallet

SHOW_EPILOG = examples("hermes credits show telegram:4711", "hermes credits show rest:bob --json")
LIST_EPILOG = examples(
    "hermes credits list", "hermes credits list --below 1", "hermes credits list --limit 500 --json"
)
GRANT_EPILOG = examples(
    "hermes credits grant telegram:4711 100",
    'hermes credits grant telegram:4711 100 --reason "invoice 77" --id invoice-77',
    'hermes credits grant telegram:4711 -20 --reason "granted twice"',
)
REFUND_EPILOG = examples(
    "hermes credits refund m_06gtv2gs6bqvb0ljq03ptcp1",
    'hermes credits refund m_06gtv2gs6bqvb0ljq03ptcp1 --reason "the answer was wrong"',
)
REFER_EPILOG = examples("hermes credits refer telegram:4711 K7QM4-XWP3H")
AUDIT_EPILOG = examples("hermes credits audit", "hermes credits audit --json")
_FOUND_WRONG = 1
_FREE_USE = (
    "A negative balance of somebody who is not limited counts what they used for free: nobody has to "
    "pay it."
)
# How a line that no operator booked is told, by the beginning of its id.
_WHY = {
    "start": "start grant",
    "opening": "use without a limit",
    "referral": "used a referral code",
    "referred": "a new person used the referral code",
    "moved-in": "moved in with a linked channel",
    "moved-out": "moved away with a linked channel",
}

Reason = Annotated[
    str, typer.Option(help="The reason; stored encrypted in the ledger.", show_default=False)
]
_COLUMNS = (
    Column("person", "id"),
    Column("balance", "number"),
    Column("held", "number", rank=2),
    Column("limited", rank=4),
    Column("code", "id", rank=3),
    Column("referred", "number", rank=5),
    Column("users", rank=1),
)
_LINE_COLUMNS = (
    Column("at", "time"),
    Column("kind"),
    Column("amount", "number"),
    Column("id", "id"),
    Column("why", rank=1),
)


def show(user: Person, *, home: Home = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """Show a person's balance, their referral code and the newest lines of their ledger."""
    report = _wallet(home, user)
    print_report(report, _print_wallet, as_json=as_json, wide=wide)


def list_all(
    *,
    home: Home = None,
    below: Annotated[
        int | None, typer.Option(help="Only wallets with less than this.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many wallets.")] = 50,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List wallets, the lowest balance first."""
    ask = WalletsAsk(below=below, limit=limit)
    report = call(home, CREDITS_LIST, ask, empty=WalletsReport)
    if as_json:
        print_json(report)
    else:
        _print_wallets(report.wallets, console(wide=wide))


def grant(
    user: Person,
    amount: Annotated[
        int,
        typer.Argument(metavar="AMOUNT", help="How many; a negative number takes credits back."),
    ],
    *,
    home: Home = None,
    reason: Reason = "",
    name: Annotated[
        str,
        typer.Option(
            "--id",
            help="A name for this grant; a second grant with the same id is ignored.",
            show_default=False,
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Give a person credits; a negative number takes some back."""
    # Asked first: an order for somebody unknown is not to make a home.
    _wallet(home, user)
    order = GrantOrder(user=user, amount=amount, reason=reason, id=name, by=operator_name())
    report = call(home, CREDITS_GRANT, order)
    did = "received" if amount > 0 else "lost"
    _print_booked(report, f"{user} {did} {in_credits(abs(amount))}", as_json=as_json)


def refund(
    message: Annotated[
        str,
        typer.Argument(
            metavar="MESSAGE", help="The message's id or its end, or the sender's own id of it."
        ),
    ],
    *,
    home: Home = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Give back what an answered message cost."""
    order = RefundOrder(message=message, reason=reason, by=operator_name())
    report = call(home, CREDITS_REFUND, order, empty=lambda: _no_message(message))
    told = f"{report.person_id} received {in_credits(report.line.amount)} back for {report.line.id}"
    _print_booked(report, told, as_json=as_json)


def refer(
    user: Person,
    code: Annotated[str, typer.Argument(metavar="CODE", help="The referral code.")],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Book a referral code for a new person; in a chat they write `/credits CODE` themselves."""
    _wallet(home, user)
    order = ReferOrder(user=user, code=code, by=operator_name())
    report = call(home, CREDITS_REFER, order)
    if as_json:
        print_json(report)
        return
    did = "brings" if report.changed else "had brought"
    print(
        clean(
            f"{user} {did} the code of {report.referred_by}: {in_credits(report.bonus)} each. "
            f"The balance is {report.balance:,}."
        )
    )


def audit(home: Home = None, as_json: AsJson = False) -> None:
    """Check that every balance is its ledger's sum minus open holds; exit code 1 if one is not."""
    report = call(
        home, CREDITS_AUDIT, NoFields(), empty=lambda: Audit(wallets=0, lines=0, holds=0, total=0)
    )
    if as_json:
        print_json(report)
    else:
        _print_audit(report)
    if report.wrong:
        raise typer.Exit(_FOUND_WRONG)


def _wallet(home: Home, user: str) -> WalletReport:
    def nobody() -> WalletReport:
        raise unknown_person(user)

    ask = WalletAsk(user=user)
    return call(home, CREDITS_SHOW, ask, empty=nobody)


def _no_message(name: str) -> NoReturn:
    raise NotFound(f"No message is known as {name[:80]!r}: nothing was ever stored here.")


def _print_wallet(report: WalletReport, out: Console) -> None:
    for told in _wallet_lines(report):
        out.print(Text(clean(told)), soft_wrap=True)
    if not report.lines:
        return
    out.print("")
    rows = ((one.at, one.kind, f"{one.amount:+,}", one.id, _why(one)) for one in report.lines)
    print_table(out, _LINE_COLUMNS, rows)


def _wallet_lines(report: WalletReport) -> list[str]:
    who = report.user if report.user == report.person_id else f"{report.user} ({report.person_id})"
    held = f", {report.held:,} more held for running turns" if report.held else ""
    is_free_use = not report.is_limited and report.balance < 0
    has = (
        f"has used {in_credits(-report.balance)} for free"
        if is_free_use
        else f"has {in_credits(report.balance)}"
    )
    lines = [f"{who} {has}{held}."]
    if not report.is_limited:
        lines.append(f"Nothing limits them: tier {report.tier} has the policy unlimited.")
    else:
        lines.append(f"A message costs {in_credits(report.price)} in tier {report.tier}.")
    if report.start_to_come:
        lines.append(
            f"The start grant of {in_credits(report.start_to_come)} has not been booked yet."
        )
    if report.referral_code is not None:
        lines.append(f"Referral code {report.referral_code}, used by {report.referred:,}.")
    if report.referred_by is not None:
        lines.append(f"Joined with the referral code of {report.referred_by}.")
    return lines


def _why(line: LedgerLine) -> str:
    if line.reason or line.by:
        return line.reason + (f" (by {line.by})" if line.by else "")
    return _WHY.get(line.id.partition(":")[0], "") if line.kind == "grant" else ""


def _print_wallets(wallets: tuple[Wallet, ...], out: Console) -> None:
    if not wallets:
        out.print("There is no such wallet.")
        return
    rows = (
        (
            wallet.person_id,
            f"{wallet.balance:,}",
            f"{wallet.held:,}",
            "yes" if wallet.is_limited else "no",
            "" if wallet.code is None else spoken(wallet.code),
            f"{wallet.referred:,}",
            " ".join(wallet.users),
        )
        for wallet in wallets
    )
    print_table(out, _COLUMNS, rows)
    if any(_debt(wallet) for wallet in wallets):
        out.print(Text(_FREE_USE, style="dim"), soft_wrap=True)


def _debt(wallet: Wallet) -> int:
    """Return what a person used beyond their credits while nothing limited them; nobody owes it."""
    return 0 if wallet.is_limited else max(0, -wallet.balance)


def _print_booked(report: BookedReport, told: str, *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    again = "" if report.changed else f" before, at {clock_time(report.line.at)}"
    print(clean(f"{told}{again}. The balance is {report.balance:,}."))


def _print_audit(report: Audit) -> None:
    checked = (
        f"{_many(report.wallets, 'wallet')} with {in_credits(report.total)}, "
        f"{_many(report.lines, 'line')} of the ledger, {_many(report.holds, 'open hold')}"
    )
    if not report.wrong:
        print(f"Checked {checked}: the books balance.")
        return
    print(f"Checked {checked}: {_many(report.wrong, 'difference')}.")
    for one in report.differences:
        numbers = f": expected {one.expected}, found {one.found}"
        print(clean(f"  {one.id}: {one.what}{numbers}"))
    if report.wrong > len(report.differences):
        print(f"  and {report.wrong - len(report.differences):,} more")


def _many(count: int, word: str) -> str:
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"
