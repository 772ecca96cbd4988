"""Prompts of MCP servers as commands: the person's message becomes the text of the prompt."""

from typing import Protocol

import msgspec

from hermes.errors import BadRequest
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.turn import Turn
from hermes.sessions.commands import CommandSpec, TypedCommand
from hermes.texts.say import say
from hermes.tools.mcp.chat_offers import ChatOffers
from hermes.tools.mcp.prompts import PromptOffer


class HasPrompts(Protocol):
    """Knows the prompts of MCP servers."""

    @property
    def mcp(self) -> ChatOffers | None: ...


def prompt_command(offer: PromptOffer) -> CommandSpec:
    """Return a prompt as the book of commands knows it."""
    about = offer.about or say("a prompt of an MCP server")
    return CommandSpec(name=offer.word, about=about, use=offer.use)


async def use_prompt(turn: Turn, written: TypedCommand, offers: ChatOffers | None) -> Turn | Reply:
    """Return the turn with the prompt as its message, or a reply that says what is wrong."""
    try:
        if offers is None:
            raise BadRequest(say("/{name} cannot be used here.", name=written.name))
        text = await offers.prompt(
            written.name, written.argument, platform=turn.event.source.platform
        )
    except BadRequest as error:
        return Reply(parts=(TextPart(str(error)),))
    rest = tuple(part for part in turn.event.parts if not isinstance(part, TextPart))
    event = msgspec.structs.replace(turn.event, parts=(TextPart(text), *rest))
    return msgspec.structs.replace(turn, event=event, is_prompt=True)
