"""The path of a message through a core: entrance, session, and the services of every turn."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from zoneinfo import ZoneInfo

import msgspec

from hermes.agents.roster import Roster
from hermes.app.core_parts import CoreBase, CoreParts
from hermes.app.make_agents import make_roster
from hermes.app.make_keys import make_keys
from hermes.app.make_schedule import CronLayer
from hermes.app.make_terminal import Terminal
from hermes.config import Settings, system_zone
from hermes.inbox.accept import Inbox
from hermes.inbox.pre_dispatch import PreDispatch
from hermes.inbox.presses import Presses
from hermes.inbox.reactions import Reactions
from hermes.memory.session_context import platform_block
from hermes.message.channel_name import of_channel
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.outcome import BusyPolicy, DeliveryState
from hermes.outbox.intervals import PreviewTiming
from hermes.outbox.previewer import OutboxPreviewer, Wanted
from hermes.people.groups import Groups
from hermes.people.reception import Reception
from hermes.pipeline.choice_offers import ButtonsOf
from hermes.pipeline.commands.prompts import prompt_command
from hermes.pipeline.needs import PutChild
from hermes.pipeline.pairing_notices import PairingNotices
from hermes.pipeline.questions import Questions
from hermes.pipeline.services import ChatFeatures, Services
from hermes.pipeline.session_context import no_news
from hermes.pipeline.session_keep import SessionKeep
from hermes.pipeline.targets import reply_id
from hermes.pipeline.turn_hooks import TurnHooks
from hermes.ports.channel import Acceptance, Buttons, Capabilities, Channel
from hermes.ports.clock import Clock
from hermes.ports.command import ChatCommand
from hermes.ports.hooks import DISPATCH
from hermes.ports.sends import Courier
from hermes.ports.tool import Tool
from hermes.schedule.session_watch import SessionWatch
from hermes.server.gateway_api import GatewayApiServer
from hermes.sessions.commands import CommandBook, CommandSpec, FindLate
from hermes.sessions.keys import SessionKeys
from hermes.sessions.resets import Resets
from hermes.tools.gate_rules import LateGateRules
from hermes.tools.image_intents import ImageIntents
from hermes.tools.tool_sets import ToolSets


class InboundParts(msgspec.Struct, frozen=True, kw_only=True):
    """The entrance: who may write, to which agent, and where messages are stored."""

    roster: Roster
    reception: Reception
    commands: CommandBook
    questions: Questions
    inbox: Inbox
    gateway_api: GatewayApiServer

    async def admits(self, event: MessageEvent) -> bool:
        """Return whether the sender of an event may use the gateway."""
        return (await self.reception.admit(event)).is_in


class _OfferParts(msgspec.Struct, frozen=True):
    """What an offer needs; fits `pipeline.choice_offers.OfferServices`."""

    clock: Clock
    make_id: MakeId
    buttons: ButtonsOf


def make_entrance(base: CoreBase) -> InboundParts:
    """Build the entrance."""
    given, settings = base.given, base.settings
    roster = make_roster(base.store, settings)
    reception = Reception(
        base.store.users,
        base.store.pairing,
        settings=settings,
        manifests={name: item.capabilities.strangers for name, item in given.channels.items()},
        clock=given.clock,
        random_bytes=secrets.token_bytes,
        tell_admins=_pairing_notices(base).tell,
    )
    commands = CommandBook(map(spec_of, given.plugged.values()), late=_late_commands(given))
    questions = Questions(_answering(given.channels), commands)
    own_chats = [name for name, item in given.channels.items() if item.capabilities.own_chats]
    keys = make_keys(base.store, settings, own_chats=own_chats)
    inbox = _make_inbox(
        base,
        roster=roster,
        reception=reception,
        commands=commands,
        questions=questions,
        keys=keys,
    )
    return InboundParts(
        roster=roster,
        reception=reception,
        commands=commands,
        questions=questions,
        inbox=inbox,
        gateway_api=GatewayApiServer(
            base.store,
            inbox=inbox,
            watch=given.watch,
            access=given.access,
            roster=roster,
            keys=keys,
            traffic=base.push.traffic,
            zone=ZoneInfo(settings.time_zone or system_zone()),
            signals=base.signals,
        ),
    )


def _pairing_notices(base: CoreBase) -> PairingNotices:
    given = base.given
    return PairingNotices(
        base.store,
        base.settings,
        offers=_OfferParts(given.clock, given.make_id, _buttons(given.channels)),
        first_state=_first_state(given.channels),
        wake=base.signals.wake_outbox,
    )


def _make_inbox(
    base: CoreBase,
    *,
    roster: Roster,
    reception: Reception,
    commands: CommandBook,
    questions: Questions,
    keys: SessionKeys,
) -> Inbox:
    given, settings, channels = base.given, base.settings, base.given.channels
    hooks = given.hooks
    presses = Presses(
        base.store,
        admission=reception.admit,
        may_use=reception.may_use,
        commands=commands,
        approvals=settings.approvals,
        clock=given.clock,
    )
    return Inbox(
        base.store,
        signals=base.signals,
        roster=roster,
        admission=reception.admit,
        may_use=reception.may_use,
        groups=Groups(settings),
        answers=questions.expects,
        presses=presses,
        reactions=Reactions(
            base.store,
            admission=reception.admit,
            approvals=settings.approvals,
            clock=given.clock,
        ),
        commands=commands,
        clock=given.clock,
        make_id=given.make_id,
        settings=settings.inbox,
        busy=settings.busy,
        manifests={name: BusyPolicy(item.capabilities.busy) for name, item in channels.items()},
        keys=keys,
        pushed=[name for name, item in channels.items() if _is_push(item)],
        programs=[name for name, item in channels.items() if item.capabilities.is_program],
        outbox_limit=settings.outbox.max_waiting,
        paused=base.push.paused,
        mark=base.push.marks.show,
        dispatch=PreDispatch(hooks) if hooks is not None and hooks.hears(DISPATCH) else None,
    )


class Sessions(msgspec.Struct, frozen=True, kw_only=True):
    """Ends sessions and releases their caches; `ended` receives sessions that ended elsewhere."""

    resets: Resets
    keep: SessionKeep
    watch: SessionWatch
    hooks: TurnHooks | None
    ended: Callable[[str, str], None]


def make_sessions(base: CoreBase) -> Sessions:
    """Build the parts that end sessions and that keep their caches."""
    store, settings, given = base.store, base.settings, base.given
    hooks = None if given.hooks is None else TurnHooks(given.hooks, store.sessions)

    async def person_of(platform: str, sender: str) -> str | None:
        return (await store.users.channel_access(platform, sender)).person_id

    resets = Resets(
        settings.sessions,
        zone=ZoneInfo(settings.time_zone or system_zone()),
        lasting={name: one.capabilities.lasting_senders for name, one in given.channels.items()},
        person_of=person_of,
        works_in=_works_in(given.terminal),
    )

    def release(lane: str) -> None:
        store.transcripts.drop(lane)
        store.souls.drop(lane)

    keep = SessionKeep(
        settings.sessions.cache,
        clock=given.clock,
        release=release,
        is_running=base.signals.is_running,
    )

    def ended(lane: str, reason: str) -> None:
        keep.drop(lane)
        if hooks is not None:
            hooks.session_ended(lane, reason)

    watch = SessionWatch(
        store.sessions,
        resets,
        platforms=tuple(given.channels),
        ended=ended,
        clock=given.clock,
        every_s=base.settings.sessions.watch_s,
        sweep=keep.sweep,
    )
    return Sessions(resets=resets, keep=keep, watch=watch, hooks=hooks, ended=ended)


def make_services(
    base: CoreBase,
    entrance: InboundParts,
    *,
    sessions: Sessions,
    cron: CronLayer,
    courier: Courier,
    tools: Mapping[str, Tool],
) -> Services:
    """Build the services that every turn shares."""
    given, settings = base.given, base.settings
    return Services(
        store=base.store,
        settings=settings,
        roster=entrance.roster,
        reception=entrance.reception,
        resets=sessions.resets,
        session_keep=sessions.keep,
        commands=entrance.commands,
        plugged=given.plugged,
        planner=base.models.planner,
        calls=base.models.calls,
        tools=tools,
        adapters=given.adapters,
        gate_rules=LateGateRules(settings.tools.gate),
        tool_sets=ToolSets(tools),
        visions=given.visions,
        image_intents=ImageIntents(settings.vision.intents, given.visions.values()),
        souls=base.memory.souls,
        facts=base.memory.facts,
        recall=base.memory.recall,
        schedules=cron.schedules,
        courier=courier,
        watch=given.watch,
        previewer=_previewer(base),
        clock=given.clock,
        make_id=given.make_id,
        put_child=_put_child(entrance),
        follow=entrance.gateway_api.watch,
        signals=base.signals,
        wake_jobs=base.memory.worker.wake,
        first_state=_first_state(given.channels),
        chats=_chat_features(base),
        hints=_hints(given.channels, settings.media.link_hosts),
        merging=_merging(settings, given.channels),
        questions=entrance.questions,
        reload_mcp=given.reload_mcp,
        mcp=given.mcp,
        on_record=given.on_record,
        owner=base.store.fleet.node,
        observer=given.observer,
        hooks=sessions.hooks,
        search=given.search,
        skills=given.skills,
        media=given.media,
        comeback=given.comeback,
        restart=given.restart,
        mask_result=given.mask_result,
        process_news=no_news if given.terminal is None else given.terminal.commands.news,
    )


def _chat_features(base: CoreBase) -> ChatFeatures:
    push, channels = base.push, base.given.channels
    personal = frozenset(name for name, one in channels.items() if one.capabilities.personal_ids)
    return ChatFeatures(_buttons(channels), push.marks.show, push.chat_infos.get, personal)


def _put_child(entrance: InboundParts) -> PutChild:
    async def put(event: MessageEvent, lane: str) -> Acceptance:
        return await entrance.inbox.put(event, lane=lane)

    return put


def _works_in(terminal: Terminal | None) -> Callable[[str], bool]:
    return (lambda _lane: False) if terminal is None else terminal.processes.works_in


def _previewer(base: CoreBase) -> OutboxPreviewer:
    settings, shared = base.settings, base.push.shared
    channels = settings.channels

    def transport(platform: str) -> Wanted:
        chosen = channels.get(platform)
        return (chosen.streaming if chosen else None) or settings.streaming.transport

    return OutboxPreviewer(
        base.push.sending,
        base.store.outbox,
        delivery_id=reply_id,
        timing=PreviewTiming(
            interval_s=settings.streaming.interval_s,
            min_chars=settings.streaming.min_chars,
            cursor=settings.streaming.cursor,
            slow_down=settings.streaming.slow_down,
            max_strikes=settings.streaming.max_refusals,
            send_timeout_s=settings.outbox.send_timeout_s,
        ),
        clock=base.given.clock,
        wanted=transport,
        rates=shared.rates,
        screens=shared.previews,
        traffic=shared.traffic,
        long=shared.long,
    )


def spec_of(command: ChatCommand) -> CommandSpec:
    """Return a plugin's command as people see it."""
    return CommandSpec(
        name=command.name, about=command.about, use=command.use, beside=command.beside
    )


def _late_commands(given: CoreParts) -> FindLate:
    """Return what finds the commands that come and go: skills, and the prompts of MCP servers."""
    skills, offers = given.skills, given.mcp

    def find(word: str) -> CommandSpec | None:
        skill = None if skills is None else skills.command(word)
        if skill is not None or offers is None:
            return skill
        offer = offers.offer(word)
        return None if offer is None else prompt_command(offer)

    return find


def _is_push(channel: Channel) -> bool:
    return channel.capabilities.delivery == "push"


def _answering(channels: Mapping[str, Channel]) -> Callable[[str], bool]:
    """Return a function that says whether people on a platform can answer a question."""

    def can_answer(platform: str) -> bool:
        channel = channels.get(platform)
        return channel is not None and channel.capabilities.answers

    return can_answer


def _first_state(channels: Mapping[str, Channel]) -> Callable[[str], DeliveryState]:
    """Return a function that gives the state of a new delivery: callers fetch from pull
    channels.
    """

    def first_state(platform: str) -> DeliveryState:
        channel = channels.get(platform)
        if channel is not None and not _is_push(channel):
            return DeliveryState.SENT
        return DeliveryState.PENDING

    return first_state


def _buttons(channels: Mapping[str, Channel]) -> ButtonsOf:
    """Return a function that gives what can be pressed under a platform's messages."""

    def buttons(platform: str) -> Buttons | None:
        channel = channels.get(platform)
        is_pushed = channel is not None and _is_push(channel)
        return channel.capabilities.buttons if channel is not None and is_pushed else None

    return buttons


def _merging(settings: Settings, channels: Mapping[str, Channel]) -> frozenset[str]:
    """Return the platforms whose waiting messages are merged into one turn.

    By default, programs and people who wait for their own reply get it.
    """
    busy = settings.busy

    def merges(name: str, capabilities: Capabilities) -> bool:
        chosen = of_channel(busy.merge_platforms, name)
        is_chat = capabilities.delivery == "push" and capabilities.answers
        return busy.merge_follow_ups and is_chat if chosen is None else chosen

    return frozenset(name for name, item in channels.items() if merges(name, item.capabilities))


def _hints(channels: Mapping[str, Channel], link_hosts: Sequence[str]) -> Mapping[str, str]:
    """Return the hints for models about the platforms that they write on."""
    all_of_them = {name: item.capabilities for name, item in channels.items()}
    told = {
        name: platform_block(one.hint, link_hosts=link_hosts if one.media else ())
        for name, one in all_of_them.items()
    }
    return {name: hint for name, hint in told.items() if hint}
