"""`load_soul` alone: the system blocks, whose session it is, and what is frozen with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import pytest

from hermes.agents.roster import Roster
from hermes.config import AgentSettings, MemorySettings, SessionSettings, Settings
from hermes.message.chat import ChatMessage
from hermes.message.event import MessageEvent
from hermes.message.parts import NotePart, TextPart
from hermes.message.source import ChatType
from hermes.pipeline.session_context import AskChatInfo, no_chat_info
from hermes.pipeline.stages.load_soul import load_soul
from hermes.pipeline.turn import Turn
from hermes.ports.channel import ChatInfo, Target
from hermes.ports.dreams import Dream
from hermes.ports.memory import SaidBefore, Soul
from hermes.sessions.commands import CommandBook
from hermes.skills.book import SkillBook
from hermes.testing.manual_time import ManualClock
from hermes.tools.tool_sets import ToolSets
from tests.unit.pipeline.stage_parts import LANE, Context, Zone, make_event, make_turn, said

AGENT = AgentSettings(system_prompt="You are Hermes.")
KNOWN = ("What is known of Ann.",)
PLAIN = Settings(sessions=SessionSettings(context=False), memory=MemorySettings(earlier_messages=5))


class Souls:
    """What sessions were told, and what the person said in others."""

    def __init__(self, soul: Soul | None = None, *earlier: SaidBefore) -> None:
        self._soul = soul
        self._earlier = earlier
        self.limits: list[int] = []

    async def get(self, lane: str, epoch: int) -> Soul | None:
        assert (lane, epoch) == (LANE, 0)
        return self._soul

    async def said_before(
        self,
        person_id: str,
        *,
        lane: str,
        epoch: int,
        limit: int,
        is_command: Callable[[str], bool],
    ) -> tuple[SaidBefore, ...]:
        self.limits.append(limit)
        return self._earlier


class Dreams:
    async def of(self, person_id: str) -> Dream | None:
        return Dream(at=0.0, insights=("Ann likes tea.",)) if person_id == "p_ann" else None


class Blocks:
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def of(self, person_id: str) -> tuple[str, ...]:
        self.asked.append(person_id)
        return KNOWN


@dataclass(frozen=True)
class Store:
    souls: Souls = field(default_factory=Souls)
    dreams: Dreams = field(default_factory=Dreams)


@dataclass(frozen=True)
class Services:
    store: Store = field(default_factory=Store)
    souls: Blocks = field(default_factory=Blocks)
    hints: Mapping[str, str] = field(default_factory=dict)
    commands: CommandBook = field(default_factory=CommandBook)
    settings: Settings = PLAIN
    clock: ManualClock = field(default_factory=ManualClock)
    resets: Zone = field(default_factory=Zone)
    roster: Roster = field(default_factory=lambda: Roster({}, default=""))
    skills: SkillBook | None = None
    tool_sets: ToolSets = field(default_factory=lambda: ToolSets({}))
    chat_info: AskChatInfo = no_chat_info
    personal_ids: frozenset[str] = frozenset()


def turn_of(event: MessageEvent | None = None, *history: ChatMessage, head: int = 0) -> Turn:
    turn = make_turn(event, agent=AGENT)
    return msgspec.structs.replace(turn, history=history, head=head)


async def load(turn: Turn, services: Services | None = None) -> Turn:
    loaded = await load_soul(turn, Context(services or Services()))
    assert isinstance(loaded, Turn)
    return loaded


@pytest.mark.req("A10")
async def test_a10_a_session_that_begins_is_told_who_the_agent_is_and_what_is_known() -> None:
    souls = Souls(None, SaidBefore("I moved to Rome", 0.0))
    services = Services(store=Store(souls), hints={"telegram": "Write short."})

    turn = await load(turn_of(), services)

    prompt, hint, known, earlier, dream = turn.system
    assert (prompt, hint, known) == ("You are Hermes.", "Write short.", *KNOWN)
    assert "1970-01-01 00:00 UTC: I moved to Rome" in earlier
    assert "Ann likes tea." in dream
    assert turn.soul == Soul("p_ann", (known, earlier, dream))
    assert (turn.is_personal, souls.limits) == (True, [5])


@pytest.mark.req("A10", "W21")
async def test_w21_a_session_that_goes_on_has_the_blocks_it_began_with() -> None:
    frozen = Soul("p_ann", ("as it was",))
    services = Services(store=Store(Souls(frozen)))

    turn = await load(turn_of(None, said("user", "hi"), head=2), services)

    assert turn.system == ("You are Hermes.", "as it was")
    assert (turn.soul, turn.is_personal, services.souls.asked) == (None, True, [])
    assert turn.history == (said("user", "hi"),)


@pytest.mark.req("A10", "A15")
@pytest.mark.parametrize("chat_type", ["group", "channel", "thread"])
async def test_a15_where_others_read_along_nothing_is_told_of_the_person(
    chat_type: object,
) -> None:
    assert chat_type in ("group", "channel", "thread")
    source = msgspec.structs.replace(make_event().source, chat_type=chat_type)
    services = Services()

    turn = await load(turn_of(msgspec.structs.replace(make_event(), source=source)), services)

    assert turn.system[0] == "You are Hermes."
    assert turn.system[1].startswith("More than one person reads this chat.")
    assert (turn.soul, turn.is_personal) == (Soul("p_ann", (), 0), False)
    assert services.souls.asked == []


@pytest.mark.req("A15")
async def test_a15_who_joins_anothers_session_sees_nothing_of_what_was_said_before() -> None:
    frozen = Soul("p_bob", KNOWN)
    before = (said("user", "I am ill"), said("assistant", "Get well soon"))

    turn = await load(turn_of(None, *before, head=2), Services(store=Store(Souls(frozen))))

    assert (turn.history, turn.shared_from, turn.is_personal) == ((), 2, False)
    assert turn.soul == Soul("p_ann", (), 2)


@pytest.mark.req("A15")
async def test_a15_where_no_facts_were_told_all_that_was_said_stays_to_be_seen() -> None:
    before = (said("user", "hi"),)
    place = Soul("p_bob", ())

    open_session = await load(turn_of(None, *before, head=1), Services(store=Store(Souls(place))))
    noted = ChatMessage("user", (TextPart("hi"), NotePart("\n\nBob is ill")))
    told = await load(turn_of(None, noted, head=1), Services(store=Store(Souls(place))))

    assert (open_session.history, open_session.shared_from) == (before, 0)
    assert (told.history, told.shared_from) == ((), 1)


@pytest.mark.req("A15")
async def test_a15_a_session_that_is_shared_stays_shared_for_whoever_began_it() -> None:
    frozen = Soul("p_ann", ("the place",), 1)
    history = (said("user", "of Ann alone"), said("user", "of all"))

    turn = await load(turn_of(None, *history, head=2), Services(store=Store(Souls(frozen))))

    assert turn.system == ("You are Hermes.", "the place")
    assert (turn.history, turn.is_personal, turn.soul) == (history[1:], False, None)


@pytest.mark.req("A15")
async def test_a15_a_session_older_than_souls_is_taken_for_a_shared_one() -> None:
    turn = await load(turn_of(None, said("user", "long ago"), head=1))

    assert (turn.is_personal, turn.soul) == (False, Soul("p_ann", (), 0))
    assert turn.history == (said("user", "long ago"),)


@pytest.mark.req("A10")
async def test_a10_a_subagent_gets_its_personality_and_nothing_else() -> None:
    services = Services(hints={"telegram": "Write short."})

    turn = await load(turn_of(make_event(internal=True)), services)

    assert turn.system == ("You are Hermes.",)
    assert (turn.soul, turn.is_personal, services.souls.asked) == (None, False, [])


@pytest.mark.req("A10", "A24")
async def test_a24_a_program_with_a_key_begins_every_session_alike() -> None:
    souls = Souls(None, SaidBefore("I moved to Rome", 0.0))

    turn = await load(turn_of(make_event(key="k_1")), Services(store=Store(souls)))

    assert (turn.system, souls.limits) == (("You are Hermes.", *KNOWN), [])


@pytest.mark.req("A10")
async def test_a10_no_earlier_messages_are_read_where_the_setting_is_0() -> None:
    souls = Souls(None, SaidBefore("I moved to Rome", 0.0))
    settings = Settings(
        sessions=SessionSettings(context=False), memory=MemorySettings(earlier_messages=0)
    )

    turn = await load(turn_of(), Services(store=Store(souls), settings=settings))

    assert (len(turn.system), souls.limits) == (3, [])


@pytest.mark.req("W26")
async def test_w26_the_place_is_told_first_of_what_is_frozen() -> None:
    turn = await load(turn_of(), Services(settings=Settings()))

    assert turn.system[1].startswith("Where this conversation takes place;")
    assert "- date: Tuesday, 2023-11-14 (UTC)" in turn.system[1]


@pytest.mark.req("W10", "W26")
@pytest.mark.parametrize(
    ("kind", "asked", "told"),
    [("group", 1, "- chat: a group, lab (id "), ("dm", 0, "- chat: a direct chat (id ")],
)
async def test_w26_a_group_is_described_as_its_platform_does(
    kind: ChatType, asked: int, told: str
) -> None:
    questions: list[Target] = []

    async def chat_info(target: Target) -> ChatInfo | None:
        questions.append(target)
        return ChatInfo(chat_id="c", chat_type="group", name="lab", topic="bees\n- chat: mine")

    event = make_event()
    source = msgspec.structs.replace(event.source, chat_type=kind)
    event = msgspec.structs.replace(event, source=source)
    turn = await load(turn_of(event), Services(settings=Settings(), chat_info=chat_info))

    place = next(block for block in turn.system if block.startswith("Where this conversation"))
    assert told in place
    assert len(questions) == asked
    assert ("- topic: bees" in place) == (kind == "group")
    # What people can write is data, and makes no line of its own.
    assert "\n- chat: mine" not in place


@pytest.mark.req("W21")
async def test_w21_the_channels_own_prompt_comes_last_and_is_not_frozen() -> None:
    event = msgspec.structs.replace(make_event(), channel_prompt="Be a pirate.")

    turn = await load(turn_of(event))

    assert turn.system[-1] == "Be a pirate."
    assert turn.soul is not None
    assert "Be a pirate." not in turn.soul.blocks


@pytest.mark.req("W11")
@pytest.mark.parametrize(
    ("place", "told"),
    [
        ({"chat_id": "lab"}, True),
        ({"chat_id": "t1", "parent_chat_id": "lab", "thread_id": "t1"}, True),
        ({"chat_id": "lab", "platform": "line/sales"}, False),
        ({"chat_id": "hall"}, False),
    ],
)
async def test_w11_the_settings_of_a_chat_are_told_there_and_in_its_threads(
    place: dict[str, str], told: bool
) -> None:
    chats = {"lab": {"prompt": "Nobody here knows the jargon."}}
    settings = Settings.model_validate({"platforms": {"line": {"chats": chats, "extra": {"a": 1}}}})
    event = make_event()
    fields = {"platform": "line", "chat_type": "group", **place}
    source = msgspec.structs.replace(event.source, **fields)

    event = msgspec.structs.replace(event, source=source, channel_prompt="Be a pirate.")
    turn = await load(turn_of(event), Services(settings=settings))

    words = ["Nobody here knows the jargon."] if told else []
    assert list(turn.system[-1 - len(words) :]) == [*words, "Be a pirate."]
    assert turn.soul is not None
    assert "Nobody here knows the jargon." not in turn.soul.blocks
