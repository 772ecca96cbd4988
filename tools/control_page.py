"""Writes docs/control-orders.md: every order over REST with its address, its role and its fields.

`python -m tools.control_page > docs/control-orders.md`. The addresses, fields, types and defaults are
read from the table of orders; only what a field means is said here. A field that nobody
explains, or an explanation that no field needs, is an error.
"""

import sys
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from hermes.control.order import AnyOrder
from hermes.control.orders import ORDERS

_INTRO = """\
# The fields of every order

Each order of [Operating a gateway](control.md) over REST: its address, the least role that may give it, and what it
takes. Orders with `GET` take their fields from the query, those with `POST` from a JSON object in the body. A field
without a default has to be there, and one that is not listed is refused. A body may also have `by`, the name of who
gives the order; it counts only from the machine's own command line. Times are seconds since 1970 (UTC).

A *person* is `platform:user_id`, such as `telegram:1234`, or their id, `p_...`.
"""
_PERSON = "a person"
_ONLY_PERSON = "only what belongs to this person"
_PLATFORM = "only this platform's"
_MOST = "at most so many"
_MODEL = "`provider:model`, an alias, or `auto`"
# What a field means, by its name; or, where one name means several things, by order and name.
WORDS: dict[str, str] = {
    "action": "only orders of this name, such as `pairing.approve`",
    "actor": "only orders of this actor, as the log names them: `token:t_...`",
    "agent": "only turns of this agent",
    "amount": "how many credits; less than 0 takes some back",
    "below": "only wallets with less than so many credits",
    "budget_period": "over which time the budget counts",
    "budget_tokens": "how many tokens it may use; without it they are not limited",
    "budget_usd": "what it may cost, in dollars; 0 refuses whatever costs something",
    "capability": "what the call is for",
    "channel": "the channel that is to belong to the person, as `platform:user_id`",
    "chat": "the direct chat in which it runs; without it the person's own",
    "days": "the last so many days",
    "default_model": "the model of the agent or of everyone",
    "first_day": "from this day on, as `2026-11-01`",
    "images": "whether there are pictures in the call",
    "is_everything": "whether everything is forgotten; then without `key`",
    "is_on": "whether model calls are stopped",
    "label": "a name for people",
    "last_day": "up to this day, as `2026-11-30`",
    "lifetime_s": "for how many seconds it is good; without it until it is revoked",
    "limit": _MOST,
    "max_output_tokens": "the longest answer that one call may ask for, in tokens",
    "may_train": "whether their conversations may be trained on",
    "message": "the id of the message, `m_...`",
    "models": "the models that it may call; without any all of them",
    "month": "the days of this month, as `2026-11`",
    "output": "whether its last answer is shown, too",
    "people": "whose conversations are read: ids of people, or `all`",
    "platform": _PLATFORM,
    "prompt": "what would be asked",
    "reason": "why; it is kept with it",
    "requests_per_minute": "how many calls a minute it may make",
    "role": "what its holder may do",
    "session": "its id, or its whole key",
    "session_model": "the model that was chosen for the conversation",
    "since": "only what happened since this time",
    "state": "only those in this state, such as `blocked`; without it all but the erased",
    "task": "the task type; without it the prompt's words tell it",
    "tier": "the tier",
    "to": "where the answer goes: `local`, PLATFORM or PLATFORM:CHAT[:THREAD]",
    "tool": "only turns that used this tool",
    "tools": "whether tools are in play",
    "user": _PERSON,
    "value": "what is known",
    "when": "when it runs, as [cron](cron.md) tells: `every weekday at 9`",
    "words": "whether only whole words are found",
    "channels.pause.platform": "the platform",
    "channels.resume.platform": "the platform",
    "costs.show.by": "by what the costs are told apart",
    "credits.grant.id": "a name of this order; one of the same name counts once",
    "credits.refer.code": "the code that they brought",
    "cron.add.agent": "the agent that answers; without it the person's",
    "cron.add.text": "what is asked each time",
    "cron.list.user": _ONLY_PERSON,
    "cron.pause.id": "the job's id, or the end of it",
    "cron.remove.id": "the job's id, or the end of it",
    "cron.resume.id": "the job's id, or the end of it",
    "cron.run.id": "the job's id, or the end of it",
    "cron.show.id": "the job's id, or the end of it",
    "deadletters.drop.id": "the reply's id, `o_...`",
    "deadletters.replay.id": "the reply's id, `o_...`",
    "deadletters.show.id": "the reply's id, `o_...`",
    "interactions.list.model": "only turns that this model answered",
    "interactions.list.user": _ONLY_PERSON,
    "keys.revoke.id": "the key's id, or a beginning of it that no other has",
    "memory.forget.key": "what is forgotten",
    "memory.set.key": "what it is about, such as `diet`",
    "models.route.model": "the model that the call names",
    "models.route.tier": "the tier of the person who asks",
    "models.swap.model": f"{_MODEL}; `default` for what the settings say",
    "pairing.approve.code": "the code that they were shown",
    "pairing.approve.platform": "where they wrote",
    "pairing.deny.user": "who waits, as `platform:user_id`",
    "pairing.revoke.user": "who was let in, as `platform:user_id`",
    "search.find.agent": "only conversations with this agent",
    "search.find.text": "what is looked for",
    "search.find.user": _ONLY_PERSON,
    "sends.send.text": "the message",
    "tokens.create.name": "a name for people",
    "access.link.revoke_others": "whether every other browser is signed out first",
    "tokens.revoke.id": "the id of a token or a browser session, or a beginning of it that no other has",
    "tokens.revoke.sessions": "whether every browser is signed out; then without `id`",
    "tokens.revoke.tokens": "whether every token is revoked; then without `id`",
    "users.activate.name": "not used",
    "users.add.name": "what they are called",
    "users.block.name": "not used",
    "users.erase.name": "not used",
    "users.unlink.name": "not used",
    "users.unlink.user": "the channel that becomes somebody's own again, as `platform:user_id`",
}
_TYPES = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def page() -> str:
    """Return the page; raises `KeyError` for a field that is not explained."""
    sections = ["\n".join(_section(one)) for one in ORDERS]
    return "\n".join((_INTRO, *sections))


def unused() -> set[str]:
    """Return the explanations that no field needs."""
    asked = {_word_of(one.name, name) for one in ORDERS for name, _ in _fields(one)}
    return set(WORDS) - asked


def _section(order: AnyOrder) -> Iterator[str]:
    fields = _fields(order)
    yield f"## {order.name}: {order.method} {order.path.replace(':path}', '}')}\n"
    yield f"{order.summary}\n"
    yield f"Least role: {order.least}.{'' if fields else ' It takes no fields.'}\n"
    if not fields:
        return
    yield "| field | what | default | |"
    yield "| --- | --- | --- | --- |"
    for name, field in fields:
        said = WORDS[_word_of(order.name, name)]
        yield f"| `{name}` | {_type(field.type)} | {_default(field)} | {said} |"
    yield ""


# Any: msgspec's own description of a field.
def _fields(order: AnyOrder) -> list[tuple[str, Any]]:
    if order.has_parameter:
        return []
    hides = order.method == "POST"
    found = [(one.encode_name, one) for one in msgspec.structs.fields(order.request)]
    return [(name, one) for name, one in found if not (hides and name == "by")]


def _word_of(action: str, name: str) -> str:
    own = f"{action}.{name}"
    return own if own in WORDS else name


# Any: a type as an annotation says it.
def _type(kind: Any) -> str:
    if get_origin(kind) in (UnionType, Union):
        return _type(next(one for one in get_args(kind) if one is not NoneType))
    if get_origin(kind) is Literal:
        return ", ".join(f"`{one}`" for one in get_args(kind))
    if get_origin(kind) is tuple:
        return f"list of {_type(get_args(kind)[0])}"
    return _TYPES[kind]


# Any: msgspec's own description of a field.
def _default(field: Any) -> str:
    if field.required:
        return "needed"
    if field.default in (None, "", ()):
        return "none"
    return f"`{msgspec.json.encode(field.default).decode()}`"


if __name__ == "__main__":
    sys.stdout.write(page())
