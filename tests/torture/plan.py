"""Which kills there are to do, and in which stories: every failpoint with every seed, and chance.

Pure, apart from counting; the campaign asks it for jobs and tells it what became of them.
"""

import random
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from itertools import count

from hermes.testing.power_cut import PowerCut
from tests.torture.bench import Job, Result
from tests.torture.homes import Mode
from tests.torture.places import PLACES
from tests.torture.story import Kill

PIGEONS = ("plain", "keys", "history")
PLATFORMS = (*PIGEONS, *PLACES)
BUSY = ("interrupt", "queue", "steer")
CUT_ON = ("plain", "keys", "telegram", "matrix")
# Where a failpoint is passed at all: a reply is held only where nothing can be found out, and
# looked for only where there is a history.
ONLY_ON: Mapping[str, tuple[str, ...]] = {
    "store.delivery_hold": ("plain",),
    "channel.find": ("history",),
    # Only a platform that tells later what arrived has it told to the store.
    "store.delivery_arrived": ("whatsapp", "discord"),
    # Nobody shuts a Matrix bot out of a room here.
    "store.delivery_dead": (*PIGEONS, "telegram", "hooked", "whatsapp", "discord"),
    # Matrix and Discord remember their place in the stream, WhatsApp its people; the others have nothing
    # to remember here.
    "store.put_channel_state": ("matrix", "whatsapp", "discord"),
    "store.trim_channel_state": ("whatsapp",),
    "wire.pigeon": PIGEONS,
    "wire.telegram": ("telegram", "hooked"),
    "wire.telegram_poll": ("telegram",),
    "wire.matrix": ("matrix",),
    "wire.whatsapp": ("whatsapp",),
    "wire.discord": ("discord",),
}
# Passed by no conversation; `store_kills` kills a process inside each of them.
WITHOUT_CONVERSATION = frozenset(
    {
        "store.abandon",
        "store.add_agent",
        "store.add_cron",
        "store.add_key",
        "store.add_spend",
        "store.add_user",
        "store.adopt_question",
        "store.answer_question",
        "store.approve_pairing",
        "store.ask",
        "store.beat",
        "store.begin_dream",
        "store.ask_pairing",
        "store.begin_prune",
        "store.begin_replay",
        "store.bury",
        "store.change_agent",
        "store.change_facts",
        "store.check_agents_again",
        "store.claim",
        "store.collect_tools",
        "store.consent",
        "store.deny_pairing",
        "store.drop_channel_state",
        "store.drop_secret",
        "store.erase",
        "store.end_replay",
        "store.end_session",
        "store.erase_secrets",
        "store.expire_deliveries",
        "store.finish_compaction",
        "store.finish_dream",
        "store.delete_response",
        "store.forget_answers",
        "store.hide",
        "store.forget_responses",
        "store.drop_reactions",
        "store.keep_directory",
        "store.keep_reaction",
        "store.keep_vectors",
        "store.link_channel",
        "store.make_link_code",
        "store.prune_session",
        "store.purge",
        "store.put_answer",
        "store.put_response",
        "store.put_off_job",
        "store.put_secret",
        "store.begin_push",
        "store.drop_push",
        "store.end_push",
        "store.interrupt",
        "store.put_push",
        "store.retry_push",
        "store.rate_call",
        "store.refer",
        "store.release_claim",
        "store.replace_secret",
        "store.remove_agent",
        "store.renew_vectors",
        "store.remove_cron",
        "store.revoke_key",
        "store.rotate",
        "store.run_cron",
        "store.send",
        "store.set_aside_tools",
        "store.set_active",
        "store.set_agent_state",
        "store.set_blocked",
        "store.set_cron",
        "store.set_kill_switch",
        "store.set_language",
        "store.stand",
        "store.step_replay",
        "store.set_tier",
        "store.swap_model",
        "store.tidy_counts",
        "store.undo",
        "store.unlink_channel",
        "store.use_credential",
        "store.use_link_code",
        "store.pause_channel",
        "store.resume_channel",
        "store.delivery_replay",
        "store.delivery_drop",
        "store.letters_lapse",
        "store.delivery_returned",
        "store.delivery_fresh",
        "store.delivery_stopped",
        "store.preview_opens",
        "store.revoke_credential",
        "store.revoke_credentials",
        "store.sign_out",
        "store.touch_credential",
        "store.invite",
        "store.withdraw",
        "store.admit",
        "store.end_sessions",
    }
)
# Asks whether a model service is there or which models it has, who signs in, or gets a picture, a page, a skill or what a search finds, and changes nothing; a service
# with a key is not asked, and conversations show no pictures and read no pages. Alerts and traces tell
# of messages, and change none.
ONLY_LOOKS = frozenset(
    {
        "wire.alert",
        "wire.identity",
        "wire.image",
        "wire.media",
        "wire.otel",
        "wire.page",
        "wire.provider.openai.models",
        "wire.provider.openai.probe",
        "wire.search",
        "wire.skill",
    }
)
# The wires of channels that no story goes through: they carry the same deliveries by the same call.
OTHER_WIRES = frozenset(
    {"wire.qq", "wire.slack", "wire.webhook", "wire.instagram", "wire.messenger", "wire.sms"}
)
# A posted question is changed once it was answered, at most a second later: some stories end before.
# `store_kills` kills there.
AFTER_ANSWERS = frozenset({"store.post_changed"})
# Counts the uses of a reply's handle; tests/contract/journal/test_reply_handles.py kills there.
OF_HANDLES = frozenset({"store.use_handle"})
# Notify callers over A2A, and call agents of other systems: tests/system/test_a2a_kills.py and
# tests/system/test_a2a_remote.py kill there.
OF_A2A = frozenset({"wire.a2a", "wire.a2a_card", "wire.task_push"})
# What answers in place of models; tests/contract/journal/test_adapters.py kills there.
OTHER_RUNTIMES = frozenset({"adapter.call"})
# Passed by a stop, and stories are only killed; tests/contract/store/test_lone_file.py kills there.
AT_STOP = frozenset({"store.close"})
# Passed by the rotation of a home of an older version: each row stays readable, bound or not.
OF_OLDER_HOMES = frozenset({"store.reseal"})
KILLS_PER_STORY = 8
MOST_TRIES = 60
LONGEST_LIFE_S = 0.8
CUT_OPERATIONS = 300
_GROUPS = ("failpoint", "random", "power cut")


class Wanted:
    """One kill that is to happen, and how often it was tried in vain."""

    def __init__(self, kill: Kill, platform: str) -> None:
        self.kill = kill
        self.platform = platform
        self.tries = 0


def mode_of(platform: str, busy: str) -> Mode:
    """Return the mode of a platform by its word."""
    if platform in PLACES:
        return Mode(place=platform, busy=busy)
    return Mode(keys=platform == "keys", history=platform == "history", busy=busy)


def reachable(points: frozenset[str]) -> frozenset[str]:
    """Return the failpoints that conversations pass."""
    skipped = WITHOUT_CONVERSATION.union(
        ONLY_LOOKS,
        OTHER_WIRES,
        OTHER_RUNTIMES,
        OF_A2A,
        OF_HANDLES,
        AFTER_ANSWERS,
        AT_STOP,
        OF_OLDER_HOMES,
    )
    return frozenset(point for point in points if point.rpartition(".")[0] not in skipped)


def platforms_of(point: str) -> tuple[str, ...]:
    """Return the platforms on which a failpoint can be passed."""
    return ONLY_ON.get(point.rpartition(".")[0], PLATFORMS)


def group_of(kill: Kill) -> str:
    """Return what kind of kill it is."""
    if kill.failpoint is not None:
        return "failpoint"
    return "random" if kill.power_cut is None else "power cut"


class Plan:
    """The kills still to do, in pools by platform, and the counts of those done."""

    def __init__(self, *, seed: int = 0) -> None:
        self._chance = random.Random(seed)
        self._pools: dict[str, deque[Wanted]] = {name: deque() for name in PLATFORMS}
        self._numbers = count(1)
        self._running: dict[int, list[Wanted]] = {}
        self.wanted: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.by_point: Counter[str] = Counter()
        self.unreached: list[Kill] = []
        self.problems: list[str] = []
        self.stories = self.messages = self.calls = self.posts = 0
        self.audits = self.captures = self.refused = self.facts = self.lessons = 0
        self.rests = self.denials = 0

    def add_failpoints(
        self, points: Iterable[str], *, seeds: int, passed: Mapping[str, int]
    ) -> None:
        """Want a kill at every failpoint with every seed; `passed` is how often a round does."""
        for number, point in enumerate(sorted(points)):
            places = platforms_of(point)
            most = max(1, passed.get(point, 1) * 2 // 3)
            for seed in range(seeds):
                kill = Kill(failpoint=point, nth=1 + seed % most)
                self._want(kill, places[(number + seed) % len(places)])

    def add_random(self, kills: int) -> None:
        """Want kills at random moments of a gateway's life, also while it starts."""
        for number in range(kills):
            after_s = self._chance.random() * LONGEST_LIFE_S
            self._want(Kill(after_s=after_s), PLATFORMS[number % len(PLATFORMS)])

    def add_power_cuts(self, cuts: int) -> None:
        """Want power cuts: two thirds tear what was unsynced, one third loses all of it."""
        for number in range(cuts):
            keep = None if number % 3 == 0 else number
            cut = PowerCut(at=self._chance.randint(1, CUT_OPERATIONS), keep_seed=keep)
            self._want(Kill(power_cut=cut), CUT_ON[number % len(CUT_ON)])

    def forget(self, done: Mapping[str, int]) -> None:
        """Leave out kills that an earlier run has done, by `group` or `failpoint` name."""
        left = Counter(done)
        for name, pool in self._pools.items():
            kept = deque(wanted for wanted in pool if not self._was_done(wanted.kill, left))
            self._pools[name] = kept

    def _was_done(self, kill: Kill, left: Counter[str]) -> bool:
        key = kill.failpoint or group_of(kill)
        if left[key] <= 0:
            return False
        left[key] -= 1
        self._count(kill)
        return True

    def mix(self) -> None:
        """Put the kills into a random order, so that each story has many kinds."""
        for pool in self._pools.values():
            self._chance.shuffle(pool)

    def _want(self, kill: Kill, platform: str) -> None:
        self._pools[platform].append(Wanted(kill, platform))
        self.wanted[group_of(kill)] += 1

    def next_job(self) -> Job | None:
        """Return the next story, from the fullest pool; None when nothing is left to start."""
        platform = max(self._pools, key=lambda name: len(self._pools[name]))
        pool = self._pools[platform]
        if not pool:
            return None
        chosen = [pool.popleft() for _ in range(min(KILLS_PER_STORY, len(pool)))]
        number = next(self._numbers)
        self._running[number] = chosen
        return Job(
            number=number,
            seed=self._chance.getrandbits(32),
            mode=mode_of(platform, BUSY[number % 3]),
            kills=tuple(wanted.kill for wanted in chosen),
        )

    def finish(self, result: Result) -> None:
        """Take a story's result; kills that did not happen are wanted again."""
        chosen = self._running.pop(result.job.number)
        self.stories += 1
        self.messages += result.messages
        self.calls += result.calls
        self.posts += result.posts
        self.audits += result.audits
        self.captures += result.captures
        self.refused += result.refused
        self.facts += result.facts
        self.lessons += result.lessons
        self.rests += result.rests
        self.denials += result.denials
        if result.problem:
            self.problems.append(result.problem)
            return
        for wanted in chosen[: len(result.fired)]:
            self._count(wanted.kill)
        for place, wanted in enumerate(chosen[len(result.fired) :]):
            self._again(wanted, was_armed=place == 0)

    def _count(self, kill: Kill) -> None:
        self.done[group_of(kill)] += 1
        if kill.failpoint is not None:
            self.by_point[kill.failpoint] += 1

    def _again(self, wanted: Wanted, *, was_armed: bool) -> None:
        """Only the kill that was armed when the talk ended has been tried in vain."""
        if was_armed:
            wanted.tries += 1
            wanted.kill = _easier(wanted.kill)
        if wanted.tries >= MOST_TRIES:
            self.unreached.append(wanted.kill)
        else:
            self._pools[wanted.platform].append(wanted)

    @property
    def is_running(self) -> bool:
        """Whether stories are being told."""
        return bool(self._running)


def _easier(kill: Kill) -> Kill:
    """Return the kill at its first chance."""
    if kill.power_cut is not None:
        half = max(1, kill.power_cut.at // 2)
        return Kill(power_cut=PowerCut(at=half, keep_seed=kill.power_cut.keep_seed))
    return Kill(failpoint=kill.failpoint, nth=1, after_s=kill.after_s)
