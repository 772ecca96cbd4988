"""The formats: how each writes a message, packs the lines into a row, and reads both back.

Reading back makes a certificate checkable offline; the certificate keeps what a format could not
hold exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import msgspec

from hermes.errors import BadRequest
from hermes.graph.blob import Message
from hermes.graph.exports.chat_lines import OPENAI, TRL, chat_lines
from hermes.graph.exports.message_reader import ToolCall, plain_json, read_message
from hermes.graph.exports.report import UnfitRow
from hermes.graph.exports.sheet import Body, Line, TrainingSheet, without_none
from hermes.graph.exports.tokens import Tokenizer, token_body

FormatName = Literal[
    "openai", "sharegpt", "trl-messages", "trl-prompt-completion", "trl-preference", "trl-kto",
    "tokens",
]  # fmt: skip
# The lines of each message.
Groups = list[list[Line]]


_FROM = {"system": "system", "developer": "system", "user": "human", "assistant": "gpt"}
_ROLE = {"system": "system", "human": "user", "gpt": "assistant"}


def sharegpt_lines(message: Message) -> list[Line]:
    """Return a message as turns: one, or one for each tool result in it."""
    spoken = read_message(message)
    if spoken.media:
        raise UnfitRow("unfit", "ShareGPT holds text only, but a message has a picture.")
    lines: list[Line] = [
        {"from": "tool", "value": f"<tool_response>\n{one.text}\n</tool_response>"}
        for one in spoken.results
    ]
    if spoken.role == "tool" or (lines and not spoken.shown):
        return lines
    thought = [f"<think>\n{spoken.thought}\n</think>"] if spoken.thought else []
    said = [spoken.text] if spoken.text else []
    value = "\n".join([*thought, *said, *map(_tagged, spoken.calls)])
    return [*lines, {"from": _FROM[spoken.role], "value": value}]


def from_sharegpt(line: Line) -> Message | None:
    """Return the plain message that a turn represents, or None if it was of another kind."""
    role, value = _ROLE.get(line.get("from", "")), line.get("value")
    return {"role": role, "content": value} if role and isinstance(value, str) else None


def _tagged(call: ToolCall) -> str:
    # The arguments are inserted as the model wrote them, never parsed and serialised again.
    inside = f'{{"name": {plain_json(call.name)}, "arguments": {call.arguments or "{}"}}}'
    return f"<tool_call>\n{inside}\n</tool_call>"


@dataclass(frozen=True, kw_only=True)
class ExportShape:
    """One format; `places` are the keys of a row that hold its lines, in order."""

    places: tuple[str, ...]
    write: Callable[[Message], list[Line]]
    pack: Callable[[TrainingSheet, Groups], Body]
    restore: Callable[[Line], Message | None]

    def body(self, sheet: TrainingSheet) -> Body:
        """Return a sheet as a row without its certificate, or raise UnfitRow."""
        return self.pack(sheet, [self.write(message) for message in sheet.messages])

    def lines(self, body: Body) -> list[Line]:
        """Return the lines of a row."""
        return [line for place in self.places for line in body[place]]


def shape_of(name: str, tokenizer: Tokenizer | None = None) -> ExportShape:
    """Return a format by its name."""
    if name == "tokens":
        return _token_shape(tokenizer)
    if name not in _SHAPES:
        known = ", ".join((*_SHAPES, "tokens"))
        raise BadRequest(f"There is no export format {name!r}. Choose one of {known}.")
    return _SHAPES[name]


def tools_in(body: Body) -> Any:  # Any: JSON
    """Return the tools that a row shows, if it shows any."""
    tools = body.get("tools")
    return msgspec.json.decode(tools) if isinstance(tools, str) else tools


def _with_tools(body: Body, sheet: TrainingSheet) -> Body:
    return body if sheet.tools is None else body | {"tools": without_none(sheet.tools)}


def _flat(groups: Groups) -> list[Line]:
    return [line for group in groups for line in group]


def _weighted(sheet: TrainingSheet, groups: Groups, *, key: str, answer: str) -> list[Line]:
    return [
        line | {"weight": int(index in sheet.trained)} if line[key] == answer else line
        for index, group in enumerate(groups)
        for line in group
    ]


def _openai(sheet: TrainingSheet, groups: Groups) -> Body:
    return _with_tools(
        {"messages": _weighted(sheet, groups, key="role", answer="assistant")}, sheet
    )


def _sharegpt(sheet: TrainingSheet, groups: Groups) -> Body:
    body: Body = {"conversations": _weighted(sheet, groups, key="from", answer="gpt")}
    return body if sheet.tools is None else body | {"tools": plain_json(sheet.tools)}


def _trl_messages(sheet: TrainingSheet, groups: Groups) -> Body:
    for index, group in enumerate(groups):
        if index not in sheet.trained and any(line["role"] == "assistant" for line in group):
            raise UnfitRow(
                "weights",
                f"Message {index} is an answer that must not be trained here, but TRL trains "
                "every answer of a conversation. Use trl-prompt-completion or tokens for it.",
            )
    return _with_tools({"messages": _flat(groups)}, sheet)


def _prompt_completion(sheet: TrainingSheet, groups: Groups) -> Body:
    body = {"prompt": _prompt(sheet, groups), "completion": groups[-1]}
    return _with_tools(body, sheet)


def _preference(sheet: TrainingSheet, groups: Groups) -> Body:
    body = {"prompt": _prompt(sheet, groups), "chosen": groups[-2], "rejected": groups[-1]}
    return _with_tools(body, sheet)


def _kto(sheet: TrainingSheet, groups: Groups) -> Body:
    return _prompt_completion(sheet, groups) | {"label": sheet.label is True}


def _prompt(sheet: TrainingSheet, groups: Groups) -> list[Line]:
    if sheet.seen == 0:
        raise UnfitRow(
            "unfit", "The call saw no message, but TRL reads the first message of each prompt."
        )
    return _flat(groups[: sheet.seen])


def _token_shape(tokenizer: Tokenizer | None) -> ExportShape:
    def pack(sheet: TrainingSheet, groups: Groups) -> Body:
        if tokenizer is None:
            raise BadRequest("The format tokens needs a tokenizer. Pass tokenizer=...")
        return token_body(sheet, groups, tokenizer)

    write = partial(chat_lines, dialect=TRL)
    return ExportShape(places=(), write=write, pack=pack, restore=lambda _: None)


def _without_weight(line: Line) -> Message | None:
    found = {key: value for key, value in line.items() if key != "weight"}
    return found if isinstance(found.get("role"), str) else None


def _trl(pack: Callable[[TrainingSheet, Groups], Body], *places: str) -> ExportShape:
    write = partial(chat_lines, dialect=TRL)
    return ExportShape(places=places, write=write, pack=pack, restore=_without_weight)


_SHAPES: dict[str, ExportShape] = {
    "openai": ExportShape(
        places=("messages",),
        write=partial(chat_lines, dialect=OPENAI),
        pack=_openai,
        restore=_without_weight,
    ),
    "sharegpt": ExportShape(
        places=("conversations",), write=sharegpt_lines, pack=_sharegpt, restore=from_sharegpt
    ),
    "trl-messages": _trl(_trl_messages, "messages"),
    "trl-prompt-completion": _trl(_prompt_completion, "prompt", "completion"),
    "trl-preference": _trl(_preference, "prompt", "chosen", "rejected"),
    "trl-kto": _trl(_kto, "prompt", "completion"),
}
