"""What the stages may use: the parts that `app.py` hands in, and the one turn's own state."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from hermes.agents.roster import Roster
from hermes.calls.model_caller import ModelCaller
from hermes.calls.planner import Planner
from hermes.config import Settings
from hermes.memory.facts import PeoplesFacts
from hermes.memory.recall import Recall
from hermes.memory.soul_cache import SoulCache
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.outcome import DeliveryState
from hermes.people.reception import Reception
from hermes.pipeline.choice_offers import ButtonsOf, no_buttons
from hermes.pipeline.comebacks import ALL_TAKEN_UP, Comeback
from hermes.pipeline.interrupts import Interrupt
from hermes.pipeline.journal import Journal
from hermes.pipeline.needs import Follow, PutChild, Sleep, StopTurn
from hermes.pipeline.observer import NOBODY, Observer
from hermes.pipeline.questions import Questions
from hermes.pipeline.session_context import AskChatInfo, ProcessNews, no_chat_info, no_news
from hermes.pipeline.session_keep import SessionKeep
from hermes.pipeline.teams import TeamLocks
from hermes.pipeline.turn_hooks import TurnHooks
from hermes.ports.adapter import Adapter
from hermes.ports.channel import ReactionName
from hermes.ports.clock import Clock
from hermes.ports.command import ChatCommand
from hermes.ports.cron import Scheduler
from hermes.ports.media import Attachments
from hermes.ports.operations import OnRecord, off_record
from hermes.ports.search import Search
from hermes.ports.sends import Courier
from hermes.ports.signals import Signals
from hermes.ports.store import Store
from hermes.ports.tool import Tool
from hermes.ports.upward import Previewer, Watch
from hermes.ports.vision import VisionPipeline
from hermes.sessions.commands import CommandBook
from hermes.sessions.resets import Resets
from hermes.skills.book import SkillBook
from hermes.tools.executor import MaskResult, unmasked
from hermes.tools.gate_rules import LateGateRules
from hermes.tools.image_intents import ImageIntents
from hermes.tools.mcp.chat_offers import ChatOffers
from hermes.tools.mcp.report import Diff
from hermes.tools.tool_sets import ToolSets

ReloadMcp = Callable[[], Awaitable[Diff]]


# Shows on a message how far it is, in its own time.
Mark = Callable[[MessageEvent, ReactionName], None]


def no_mark(_event: MessageEvent, _name: ReactionName) -> None:
    """Show nothing."""


# Asks the process to restart, for a reason; false where nothing would start it again.
Restart = Callable[[str], bool]


def cannot_restart(_reason: str) -> bool:
    """A core that lives inside another program does not end it."""
    return False


class ChatFeatures(msgspec.Struct, frozen=True):
    """What the platforms can do beside sending: buttons, marks on messages, words about a chat.

    On the channels of `personal_ids` the ids of people and chats say who somebody is.
    """

    buttons: ButtonsOf = no_buttons
    mark: Mark = no_mark
    chat_info: AskChatInfo = no_chat_info
    personal_ids: frozenset[str] = frozenset()


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What every turn shares."""

    store: Store
    settings: Settings
    roster: Roster
    reception: Reception
    resets: Resets
    session_keep: SessionKeep
    commands: CommandBook
    plugged: Mapping[str, ChatCommand]
    planner: Planner
    calls: ModelCaller
    tools: Mapping[str, Tool]
    # What answers for agents whose runtime is not `hermes`, by name.
    adapters: Mapping[str, Adapter]
    gate_rules: LateGateRules
    tool_sets: ToolSets
    visions: Mapping[str, VisionPipeline]
    image_intents: ImageIntents
    souls: SoulCache
    facts: PeoplesFacts
    recall: Recall
    schedules: Scheduler
    courier: Courier
    watch: Watch
    previewer: Previewer
    clock: Clock
    make_id: MakeId
    sleep: Sleep = asyncio.sleep
    put_child: PutChild
    follow: Follow
    signals: Signals
    team_locks: TeamLocks = msgspec.field(default_factory=TeamLocks)
    wake_jobs: Callable[[], None]
    first_state: Callable[[str], DeliveryState]
    hints: Mapping[str, str]
    chats: ChatFeatures = ChatFeatures()
    # Platforms on which messages that wait behind one another are answered as one.
    merging: frozenset[str]
    questions: Questions
    reload_mcp: ReloadMcp
    owner: str
    on_record: OnRecord = off_record
    search: Search | None = None
    skills: SkillBook | None = None
    media: Attachments | None = None
    observer: Observer = NOBODY
    hooks: TurnHooks | None = None
    comeback: Comeback = ALL_TAKEN_UP
    restart: Restart = cannot_restart
    mask_result: MaskResult = unmasked
    process_news: ProcessNews = no_news
    mcp: ChatOffers | None = None

    @property
    def buttons(self) -> ButtonsOf:
        """What can be pressed under a platform's messages."""
        return self.chats.buttons

    @property
    def mark(self) -> Mark:
        """Shows on a message how far it is."""
        return self.chats.mark

    @property
    def chat_info(self) -> AskChatInfo:
        """Asks a platform about a chat."""
        return self.chats.chat_info

    @property
    def personal_ids(self) -> frozenset[str]:
        """The channels whose ids no model sees."""
        return self.chats.personal_ids

    @property
    def stop_turn(self) -> StopTurn:
        """Stops the turn of a message that runs on a lane."""
        return self.signals.interrupt

    @property
    def wake_lane(self) -> Callable[[str], None]:
        """Lets a lane look for work."""
        return self.signals.wake_lane

    @property
    def wake_outbox(self) -> Callable[[str], None]:
        """Lets a platform look for what it has to send."""
        return self.signals.wake_outbox


class TurnContext(msgspec.Struct, frozen=True):
    """What a stage gets beside the turn: the shared services, its journal and its stop switch."""

    services: Services
    journal: Journal
    interrupt: Interrupt
