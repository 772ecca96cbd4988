"""The chats that the training checks export: with edits, tools and thoughts."""

from typing import Any

from hermes.graph import MessageGraph
from hermes.graph.exports import FormatName, Report, Row, export_rows
from hermes.graph.exports.tokenizer_file import TemplateTokenizer
from tests.unit.graph.said import assistant, system, tool_result, user

ARGUMENTS = '{"city":  "Bonn",\n "at":null}'
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = {"name": "weather", "description": "Look it up.", "parameters": PARAMETERS}
TOOLS = [{"type": "function", "function": WEATHER}]
CALL = {"role": "assistant", "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}}
]}  # fmt: skip


def colours() -> MessageGraph:
    """An answer is rewritten after another call has seen it: it was sampled, and is so no more."""
    graph = MessageGraph([system("Be brief."), user("Name a colour.")], name="colours")
    graph.record_call(assistant("Blue."), model="small-1")
    graph.append(user("Another."))
    graph.record_call(assistant("Red."), model="small-1")
    graph[2]["content"] = "Green."
    graph.append(user("A third."))
    graph.record_call(assistant("Grey."), model="small-1")
    return graph


def weather() -> MessageGraph:
    """A tool is called and its result is answered; in the end somebody rewrites the answer."""
    graph = MessageGraph([user("How is the weather?")], name="weather")
    graph.record_call(CALL, model="small-1", tools=TOOLS)
    graph.append(tool_result("c1", "12 degrees"))
    thought = {"type": "thinking", "thinking": "Not warm.", "signature": "EqQB"}
    said = [thought, {"type": "text", "text": "Cool."}]
    graph.record_call({"role": "assistant", "content": said}, model="small-1", tools=TOOLS)
    graph[-1]["content"][1]["text"] = "Mild."
    return graph


def rows_of(
    format_name: FormatName, tokenizer: Any, graphs: list[MessageGraph] | None = None
) -> list[Row]:
    """Export the chats."""
    takes_tokens = format_name == "tokens"
    return list(
        export_rows(
            graphs or [colours(), weather()],
            format_name,
            may_train=lambda _: True,
            salt=b"a salt of 16 bytes or more",
            report=Report(),
            tokenizer=TemplateTokenizer(tokenizer, tokenizer.chat_template)
            if takes_tokens
            else None,
        )
    )
