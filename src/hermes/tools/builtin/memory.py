"""`memory`: what the agent knows about the sender, and about nobody else.

The turn decides whose facts they are, never the arguments. Every value is cleaned before it is
stored. In a chat that other people read, no facts are shown.
"""

from typing import Final, Literal

import msgspec

from hermes.errors import BadRequest, ToolError
from hermes.ports.memory import Fact, FactKeeper
from hermes.ports.provider import ToolSpec
from hermes.ports.tool import ToolContext, ToolTraits

INTENT: Final = "memory"
_MOST_SHOWN: Final = 50
_SHOWN_CHARS: Final = 500


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    action: Literal["remember", "look_up", "forget"]
    key: str = ""
    value: str = ""


_SPEC: Final = ToolSpec(
    name="memory",
    description=(
        "Keep, find or drop lasting facts about the person you talk to. Remember only what they "
        "told you about themselves and want kept."
    ),
    parameters=msgspec.Raw(
        msgspec.json.encode(
            {
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": ["remember", "look_up", "forget"]},
                    "key": {
                        "type": "string",
                        "description": "A short name such as diet. To look up: words to find, or "
                        "nothing for everything.",
                    },
                    "value": {"type": "string", "description": "What to remember."},
                },
                "required": ["action"],
                "additionalProperties": False,
            }
        )
    ),
)


class Memory:
    """The tool; implements the tool port."""

    traits: Final = ToolTraits(
        idempotent=True, parallel=True, intents=(INTENT,), on_by_default=True, is_memory=True
    )
    spec: Final = _SPEC

    def __init__(self, facts: FactKeeper) -> None:
        self._facts = facts

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        """Run the requested action on the facts of the turn's own person."""
        asked = msgspec.json.decode(arguments, type=_Arguments)
        if asked.action == "look_up":
            return await self._look_up(asked.key, context)
        if not asked.key.strip():
            raise ToolError(f"memory: to {asked.action} something give its `key`, such as diet")
        if asked.action == "forget":
            return await self._forget(asked.key, context)
        if not asked.value.strip():
            raise ToolError("memory: to remember something give its `value`, too")
        return await self._remember(asked, context)

    async def _look_up(self, words: str, context: ToolContext) -> str:
        if not context.is_private:
            raise ToolError(
                "memory: others read along in this chat, so what is known of the person stays "
                "private; it can be looked up in a direct chat with them"
            )
        known = await self._facts.of(context.person_id)
        found = [fact for fact in known if _fits(fact, words)] if words.strip() else list(known)
        if not found:
            names = ", ".join(sorted(fact.key for fact in known)[:_MOST_SHOWN])
            return f"nothing is known about that; known are: {names or 'no facts yet'}"
        lines = [f"{one.key}: {one.value[:_SHOWN_CHARS]}" for one in found[-_MOST_SHOWN:]]
        more = len(found) - len(lines)
        return "\n".join((*lines, *((f"and {more} older ones",) if more else ())))

    async def _remember(self, asked: _Arguments, context: ToolContext) -> str:
        try:
            kept = await self._facts.set(
                context.person_id, asked.key, value=asked.value, source=context.turn_id
            )
        except BadRequest as error:
            raise ToolError(f"memory: {error}") from error
        cut = "; parts that read like instructions were left out" if kept.removed else ""
        return f"remembered {kept.fact.key}: {kept.fact.value[:_SHOWN_CHARS]}{cut}"

    async def _forget(self, key: str, context: ToolContext) -> str:
        dropped = await self._facts.forget(context.person_id, key)
        names = ", ".join(fact.key for fact in dropped)
        return f"forgot {names}" if names else f"nothing is known under {key[:100]!r} any more"


def _fits(fact: Fact, words: str) -> bool:
    text = f"{fact.key} {fact.value}".casefold().replace("_", " ")
    return any(word in text for word in words.casefold().replace("_", " ").split())
