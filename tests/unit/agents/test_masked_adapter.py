"""Answers of adapters without stored secrets, also where a secret comes in pieces."""

import msgspec
import pytest

from hermes.agents.masked_adapter import MaskedAdapter
from hermes.agents.secret_mask import SecretMask
from hermes.errors import AdapterError, AdapterLost
from hermes.message.chat import ChatMessage
from hermes.message.parts import TextPart
from hermes.ports.adapter import AdapterAgent, AdapterCall, AdapterEnd
from hermes.ports.provider import TextDelta
from hermes.ports.tool import Question
from hermes.testing.scripted_adapter import ScriptedAdapter

pytestmark = pytest.mark.req("A25", "M9")
SECRET = "sk-a: long-secret-value"


def call(text: str, *, was_cut_off: bool = False) -> AdapterCall:
    return AdapterCall(
        id="m.1",
        agent=AdapterAgent(key="w_1", name="coder"),
        person_id="p_1",
        tier="free",
        lane="lane",
        conversation="lane#0",
        platform="rest",
        messages=(ChatMessage("user", (TextPart(text),)),),
        was_cut_off=was_cut_off,
    )


def masked(name: str = "scripted") -> MaskedAdapter:
    mask = SecretMask()
    mask.use([("KEY", SECRET)])
    return MaskedAdapter(ScriptedAdapter(name), mask)


async def test_a_secret_is_masked_in_pieces_and_whole() -> None:
    # The first piece of the answer ends within the secret.
    adapter = masked(SECRET[:4])
    events = [event async for event in adapter.stream(call(SECRET[6:]))]
    shown = "".join(event.text for event in events if isinstance(event, TextDelta))
    whole = await masked().complete(call(f"it is {SECRET}"))

    assert SECRET not in shown
    assert [type(event) for event in events][-1] is AdapterEnd
    assert SECRET not in str(whole.parts)


@pytest.mark.parametrize(
    ("text", "was_cut_off", "kind"),
    [("crash", False, AdapterError), ("go on", True, AdapterLost)],
)
async def test_an_error_is_masked_and_stays_what_it_is(
    text: str, was_cut_off: bool, kind: type[AdapterError]
) -> None:
    with pytest.raises(AdapterError) as raised:
        await masked(SECRET).complete(call(text, was_cut_off=was_cut_off))

    assert type(raised.value) is kind
    assert SECRET not in str(raised.value)


async def test_what_a_program_asks_is_masked_too() -> None:
    heard: list[str] = []

    async def ask(question: Question) -> dict[str, object]:
        heard.append(question.text)
        return {}

    mask = SecretMask()
    mask.use([("KEY", SECRET)])
    adapter = MaskedAdapter(ScriptedAdapter(wants=f"May I send {SECRET}?"), mask)
    end = await adapter.complete(msgspec.structs.replace(call("ask"), ask=ask))

    assert heard == ["May I send [secret KEY]?"]
    assert end.parts == (TextPart("scripted: allowed"),)
