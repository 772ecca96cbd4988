"""`hermes users list|show|add|activate|block|tier|link|unlink|erase`: the people of this gateway."""

from typing import Annotated

import typer
from rich.console import Console

from hermes.cli.operator_calls import call, operator_name
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import (
    AsJson,
    ChannelName,
    Home,
    Person,
    Wide,
    clean,
    console,
    examples,
    print_done,
    print_fields,
    print_json,
)
from hermes.control.consent import unknown_person
from hermes.control.order import Order
from hermes.control.orders import (
    USERS_ACTIVATE,
    USERS_ADD,
    USERS_BLOCK,
    USERS_ERASE,
    USERS_LINK,
    USERS_LIST,
    USERS_SHOW,
    USERS_TIER,
    USERS_UNLINK,
)
from hermes.control.users import (
    LinkOrder,
    TierOrder,
    UserAsk,
    UserOrder,
    UserReport,
    UsersAsk,
    UsersReport,
)
from hermes.control.why_answer import clock_time
from hermes.ports.people import User, UserChannel, UserState

LIST_EPILOG = examples(
    "hermes users list", "hermes users list --state guest", "hermes users list --limit 500 --json"
)
SHOW_EPILOG = examples("hermes users show telegram:4711", "hermes users show rest:bob --json")
ADD_EPILOG = examples(
    "hermes users add telegram:4711", 'hermes users add whatsapp:4915112345 --name "Ann"'
)
ACTIVATE_EPILOG = examples(
    "hermes users activate telegram:4711",
    "hermes users activate p_06gtv2gs6bqvb0ljq03ptcp1   (all their channels)",
)
BLOCK_EPILOG = examples("hermes users block telegram:4711")
TIER_EPILOG = examples(
    "hermes users tier telegram:4711 pro", "hermes users tier rest:bob free --json"
)
LINK_EPILOG = examples("hermes users link web:owner telegram:4711")
UNLINK_EPILOG = examples("hermes users unlink telegram:4711")
ERASE_EPILOG = examples("hermes users erase telegram:4711", "hermes users erase rest:bob --yes")
_COLUMNS = (
    Column("id", "id"),
    Column("state", "state"),
    Column("channels", rank=1),
    Column("name", rank=2),
    Column("tier", rank=4),
    Column("since", "time", rank=3),
)


def list_all(
    *,
    home: Home = None,
    state: Annotated[
        UserState | None, typer.Option(help="Only people in this state.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many people.")] = 50,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List people, the newest first: their channels, and whether they were let in."""
    ask = UsersAsk(state=state, limit=limit)
    report = call(home, USERS_LIST, ask, empty=UsersReport)
    if as_json:
        print_json(report)
    else:
        _print_users(report.users, console(wide=wide))


def show(user: Person, *, home: Home = None, as_json: AsJson = False) -> None:
    """Show a person: their channels, how they were let in, their tier, and their consent."""
    report = _show(home, user)
    if as_json:
        print_json(report)
    else:
        _print_user(report.user, console())


def add(
    channel: ChannelName,
    *,
    home: Home = None,
    name: Annotated[
        str,
        typer.Option(help="A display name; it does not identify the person.", show_default=False),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Let a person in before they have written."""
    order = UserOrder(user=channel, name=name, by=operator_name())
    report = call(home, USERS_ADD, order)
    did = "is let in" if report.changed else "was let in already"
    print_done(report, f"{channel} ({report.user.id}) {did}.", as_json=as_json)


def activate(user: Person, *, home: Home = None, as_json: AsJson = False) -> None:
    """Let a person in on one channel or on all of theirs; this also unblocks them."""
    report = _known_order(home, USERS_ACTIVATE, user)
    did = "is let in" if report.changed else "was let in already"
    print_done(report, f"{_named(user, report.user)} {did}.", as_json=as_json)


def block(user: Person, *, home: Home = None, as_json: AsJson = False) -> None:
    """Block a person on every channel. Undo with `activate`."""
    report = _known_order(home, USERS_BLOCK, user)
    did = "is blocked on every channel" if report.changed else "was blocked already"
    print_done(report, f"{_named(user, report.user)} {did}.", as_json=as_json)


def set_tier(
    user: Person,
    tier: Annotated[str, typer.Argument(metavar="TIER", help="A configured tier, such as pro.")],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Change a person's tier, from their next message on."""
    _show(home, user)
    order = TierOrder(user=user, tier=tier, by=operator_name())
    report = call(home, USERS_TIER, order)
    did = "has the tier" if report.changed else "had the tier already:"
    print_done(report, f"{_named(user, report.user)} {did} {report.user.tier}.", as_json=as_json)


def link(user: Person, channel: ChannelName, *, home: Home = None, as_json: AsJson = False) -> None:
    """Give a channel to a person, as their own code (`/link` in a chat) would."""
    # Asked first: an order for somebody unknown is not to make a home.
    _show(home, user)
    order = LinkOrder(user=user, channel=channel, by=operator_name())
    report = call(home, USERS_LINK, order)
    print_done(report, _moved_text(report, channel), as_json=as_json)


def unlink(channel: ChannelName, *, home: Home = None, as_json: AsJson = False) -> None:
    """Take a channel from its person; it belongs to its former person again, and is not let in."""
    report = _known_order(home, USERS_UNLINK, channel)
    text = f"{channel} belongs to {report.user.id} again, and is not let in."
    if report.moved is not None and report.moved.jobs:
        text += f" {_jobs(report.moved.jobs)} went back with it."
    print_done(report, text, as_json=as_json)


def erase(
    user: Person,
    *,
    home: Home = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Destroy a person's data key: nobody can read again what they wrote and were told."""
    found = _show(home, user).user
    if not yes and found.state != "erased":
        typer.confirm(f"Erase {_named(user, found)} for good?", abort=True, err=True)
    report = call(home, USERS_ERASE, UserOrder(user=found.id, by=operator_name()))
    if as_json:
        print_json(report)
        return
    did = "is erased" if report.changed else "was erased before"
    print(clean(f"{_named(user, report.user)} {did}."))
    for channel in report.user.channels:
        if channel.was_person is not None:
            name = f"{channel.platform}:{channel.user_id}"
            print(
                clean(
                    f"What {name} wrote before it was linked is still stored: `hermes users erase "
                    f"{channel.was_person}` erases it."
                )
            )


def _show(home: Home, user: str) -> UserReport:
    def nobody() -> UserReport:
        raise unknown_person(user)

    return call(home, USERS_SHOW, UserAsk(user=user), empty=nobody)


def _known_order(home: Home, order: Order[UserOrder, UserReport], user: str) -> UserReport:
    """Give an order about a known person; one about nobody must not create a home."""
    _show(home, user)
    return call(home, order, UserOrder(user=user, by=operator_name()))


def _moved_text(report: UserReport, channel: str) -> str:
    moved = report.moved
    if moved is None or not report.changed:
        return f"{channel} belonged to {report.user.id} already."
    went = f" {moved.credits} credits moved with it." if moved.credits else ""
    went += f" {_jobs(moved.jobs)} moved with it." if moved.jobs else ""
    return (
        f"{channel} belongs to {moved.after} now. What {moved.before} wrote still belongs to "
        f"{moved.before}: `hermes users show {moved.before}`.{went}"
    )


def _jobs(count: int) -> str:
    return "1 scheduled job" if count == 1 else f"{count} scheduled jobs"


def _named(name: str, user: User) -> str:
    return name if name == user.id else f"{name} ({user.id})"


def _print_users(users: tuple[User, ...], out: Console) -> None:
    if not users:
        out.print("There are no people yet. People appear with their first message.")
        return
    rows = (
        (
            user.id,
            user.state,
            ", ".join(f"{one.platform}:{one.user_id}" for one in user.channels),
            ", ".join(dict.fromkeys(one.name for one in user.channels if one.name)),
            user.tier,
            user.created_at,
        )
        for user in users
    )
    print_table(out, _COLUMNS, rows)


def _print_user(user: User, out: Console) -> None:
    lines = [
        ("person", user.id),
        ("state", _state(user)),
        ("since", clock_time(user.created_at)),
        ("tier", user.tier),
        ("training", "may be trained on" if user.may_train else "may not be trained on"),
    ]
    lines += [("channel", _channel(one)) for one in user.channels]
    lines += [
        ("left", f"{one.platform}:{one.user_id} belongs to {one.person_id} since it was linked")
        for one in user.left
    ]
    print_fields(out, lines)


def _state(user: User) -> str:
    if user.erased_at is not None:
        return f"erased {clock_time(user.erased_at)}"
    if user.blocked_at is not None:
        return f"blocked since {clock_time(user.blocked_at)}"
    return user.state


def _channel(one: UserChannel) -> str:
    text = f"{one.platform}:{one.user_id}"
    if one.name:
        text += f", named {one.name}"
    if one.activated_at is None:
        text += ", not let in"
    else:
        text += f", let in {clock_time(one.activated_at)} ({one.activated_how})"
    return text if one.was_person is None else f"{text}, was {one.was_person} before"
