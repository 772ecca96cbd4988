"""When a conversation ends by itself: by the day, by silence, by both or never, in any time zone."""

from datetime import datetime, timedelta
from types import MappingProxyType
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.cli.conversation import SENDER
from hermes.config import ResetSettings, SessionSettings
from hermes.message.session_key import SessionKey
from hermes.plugins.manifest import load_capabilities
from hermes.sessions.resets import Resets, end_reason, last_boundary, rule_for, told

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
ZONES = (BERLIN, NEW_YORK, LORD_HOWE, ZoneInfo("UTC"))
BOTH = ResetSettings()


def at(text: str, zone: ZoneInfo = BERLIN, *, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()


@pytest.mark.req("W23")
@pytest.mark.parametrize(
    ("mode", "used", "now", "reason"),
    [
        ("both", "2026-11-14T23:50", "2026-11-15T03:59", None),
        ("both", "2026-11-14T23:50", "2026-11-15T04:00", "daily"),
        ("both", "2026-11-15T04:00", "2026-11-15T23:59", None),
        ("both", "2026-11-15T03:59", "2026-11-15T04:01", "daily"),
        ("daily", "2026-11-10T12:00", "2026-11-15T12:00", "daily"),
        ("daily", "2026-11-15T05:00", "2026-11-16T03:00", None),
        ("idle", "2026-11-14T12:00", "2026-11-15T12:00", None),
        ("idle", "2026-11-14T12:00", "2026-11-15T12:01", "idle"),
        ("idle", "2026-11-15T03:59", "2026-11-15T04:01", None),
        ("none", "2020-01-01T00:00", "2026-11-15T12:00", None),
        ("both", "2026-11-16T12:00", "2026-11-15T12:00", None),
    ],
)
def test_a_conversation_ends_by_the_day_and_by_silence(
    mode: str, used: str, now: str, reason: str | None
) -> None:
    rule = ResetSettings.model_validate({"mode": mode})

    assert end_reason(at(used), at(now), rule=rule, zone=BERLIN) == reason


@pytest.mark.req("W23")
def test_half_a_day_of_silence_is_a_rule_that_can_be_chosen() -> None:
    rule = ResetSettings(mode="idle", idle_min=720)

    assert end_reason(0.0, 720 * 60.0, rule=rule, zone=BERLIN) is None
    assert end_reason(0.0, 720 * 60.0 + 1, rule=rule, zone=BERLIN) == "idle"


@pytest.mark.req("W23")
@pytest.mark.parametrize(
    ("zone", "time", "now", "boundary"),
    [
        # Clocks go from 2:00 to 3:00: a day that would end at 2:30 ends where they went on.
        (BERLIN, "02:30", "2026-03-29T12:00", "2026-03-29T03:00"),
        (BERLIN, "04:00", "2026-03-29T12:00", "2026-03-29T04:00"),
        (NEW_YORK, "02:30", "2026-03-08T12:00", "2026-03-08T03:00"),
        # Half an hour is skipped here: from 2:00 to 2:30.
        (LORD_HOWE, "02:15", "2026-10-04T12:00", "2026-10-04T02:30"),
        # Clocks show 2:30 twice: the day ends when they first do.
        (BERLIN, "02:30", "2026-10-25T12:00", "2026-10-25T02:30"),
        (NEW_YORK, "01:30", "2026-11-01T12:00", "2026-11-01T01:30"),
    ],
)
def test_the_end_of_the_day_when_clocks_change(
    zone: ZoneInfo, time: str, now: str, boundary: str
) -> None:
    assert last_boundary(at(now, zone), at=time, zone=zone) == at(boundary, zone)


@pytest.mark.req("W23")
def test_an_hour_that_comes_twice_ends_the_day_once() -> None:
    first, second = at("2026-10-25T02:35"), at("2026-10-25T02:35", fold=1)
    rule = ResetSettings(mode="daily", at="02:30")

    assert second - first == 3600
    assert end_reason(first, second, rule=rule, zone=BERLIN) is None


@pytest.mark.req("W23")
@given(
    now=st.integers(min_value=0, max_value=4_102_444_800),
    minutes=st.integers(min_value=0, max_value=1_439),
    zone=st.sampled_from(ZONES),
)
def test_there_is_always_one_end_of_the_day_in_the_last_day(
    now: int, minutes: int, zone: ZoneInfo
) -> None:
    time = f"{minutes // 60:02}:{minutes % 60:02}"

    boundary = last_boundary(float(now), at=time, zone=zone)

    assert boundary <= now
    assert now - boundary <= timedelta(hours=25).total_seconds()
    # Asked again at that very instant it is the same; a moment earlier it is another.
    assert last_boundary(boundary, at=time, zone=zone) == boundary
    assert last_boundary(boundary - 1, at=time, zone=zone) < boundary


@pytest.mark.req("W23")
@given(
    used=st.floats(min_value=0, max_value=4e9),
    gap=st.floats(min_value=0, max_value=1e7),
    later=st.floats(min_value=0, max_value=1e7),
    mode=st.sampled_from(["daily", "idle", "both"]),
    zone=st.sampled_from(ZONES),
)
def test_what_is_over_stays_over(
    used: float, gap: float, later: float, mode: str, zone: ZoneInfo
) -> None:
    rule = ResetSettings.model_validate({"mode": mode})

    if end_reason(used, used + gap, rule=rule, zone=zone) is not None:
        assert end_reason(used, used + gap + later, rule=rule, zone=zone) is not None


@pytest.mark.req("W23")
def test_a_platform_s_rule_goes_before_that_of_a_kind_of_chat_and_before_the_common_one() -> None:
    settings = SessionSettings(
        reset=ResetSettings(mode="both"),
        reset_chat_types=MappingProxyType({"thread": ResetSettings(mode="none")}),
        reset_platforms=MappingProxyType({"slack": ResetSettings(mode="idle")}),
    )

    def mode(platform: str, chat_type: str, thread: str | None = None) -> str:
        key = SessionKey(
            agent="main", platform=platform, chat_type=chat_type, chat_id="c", thread=thread
        )
        return rule_for(key, settings).mode

    assert mode("telegram", "dm") == "both"
    assert mode("telegram", "group", thread="7") == "none"
    assert mode("slack", "group", thread="7") == "idle"


LASTING = {"web": ("*",), "rest": ("cli",)}


async def reason(lane: str, person_id: str, settings: SessionSettings) -> str | None:
    """Return why a session is over that nobody used for two days."""
    people = {("rest", "cli"): "p_cli"}

    async def person_of(platform: str, sender: str) -> str | None:
        return people.get((platform, sender))

    resets = Resets(settings, zone=BERLIN, lasting=LASTING, person_of=person_of)
    now = at("2026-11-15T12:00")
    return await resets.reason(lane, person_id=person_id, used_at=now - 2 * 86_400, now=now)


@pytest.mark.req("W23", "W42")
async def test_no_clock_ends_a_session_in_which_a_process_runs() -> None:
    running = {"agent:main:slack:dm:c"}
    resets = Resets(SessionSettings(), zone=BERLIN, works_in=lambda lane: lane in running)
    now = at("2026-11-15T12:00")

    async def over(lane: str) -> str | None:
        return await resets.reason(lane, person_id="p_1", used_at=now - 2 * 86_400, now=now)

    assert await over("agent:main:slack:dm:c") is None
    assert await over("agent:main:slack:dm:d") == "daily"


@pytest.mark.req("W23")
@pytest.mark.parametrize(
    ("platform", "person_id", "over"),
    [
        ("web", "p_owner", None),
        ("web", "p_cli", None),
        ("rest", "p_cli", None),
        ("rest", "p_ann", "daily"),
        ("slack", "p_cli", "daily"),
    ],
)
async def test_no_clock_ends_the_sessions_of_lasting_senders(
    platform: str, person_id: str, over: str | None
) -> None:
    common = SessionSettings()
    by_chat = SessionSettings(reset_chat_types=MappingProxyType({"dm": ResetSettings()}))

    assert await reason(f"agent:main:{platform}:dm:c", person_id, common) == over
    assert await reason(f"agent:main:{platform}:dm:c", person_id, by_chat) == over


@pytest.mark.req("W23")
@pytest.mark.parametrize(("platform", "person_id"), [("web", "p_owner"), ("rest", "p_cli")])
async def test_a_rule_for_the_platform_ends_the_sessions_of_lasting_senders_too(
    platform: str, person_id: str
) -> None:
    rules = MappingProxyType({platform: ResetSettings(mode="idle", idle_min=60)})
    settings = SessionSettings(reset_platforms=rules)

    assert await reason(f"agent:main:{platform}:dm:c", person_id, settings) == "idle"


@pytest.mark.req("W23", "W9")
def test_the_web_chat_and_the_terminal_last_by_their_manifests() -> None:
    web, rest = (load_capabilities(f"hermes.channels.{name}") for name in ("web", "rest"))

    assert {"web": web.lasting_senders, "rest": rest.lasting_senders} == LASTING
    assert rest.lasting_senders == (SENDER,)


@pytest.mark.req("W23")
def test_people_are_told_why() -> None:
    assert "new day" in told("daily", can_search=False)
    assert "/search" not in told("daily", can_search=False)
    assert "quiet" in told("idle", can_search=True)
    assert "/search" in told("idle", can_search=True)
