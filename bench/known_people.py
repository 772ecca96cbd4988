"""People of whom something is known: facts as sentences, and how a running gateway gets them."""

from time import monotonic, sleep

from bench.gateway import Running
from bench.process import cpu_s
from hermes.cli.gateway_client import client_for
from hermes.control.memory import FactOrder, FactReport
from hermes.ops.instance import find_running

_SUBJECTS = (
    "a dog called Rex",
    "the garden behind the house",
    "hiking in the rain",
    "a red winter coat",
    "old jazz records",
    "the dentist",
    "bread with rye",
    "a sister in Lisbon",
    "night trains",
    "the piano",
)
_WORDS = (
    "likes {} most of all",
    "was late because of {} in spring",
    "asked twice about {}",
    "does not want to hear of {} on Sundays",
    "paid too much for {}",
    "promised to write about {}",
    "dreams of {} now and then",
    "learnt about {} from a neighbour",
)
_IDLE_SHARE, _IDLE_LOOK_S, _IDLE_MOST_S = 0.05, 0.5, 180.0


def sentence(number: int) -> str:
    """Return a fact; every number makes another one."""
    subject = _SUBJECTS[number % len(_SUBJECTS)]
    words = _WORDS[number // len(_SUBJECTS) % len(_WORDS)]
    return f"{words.format(subject)}, the {number}th time"


def tell_facts(running: Running, user: str, count: int) -> None:
    """Give a gateway facts about a person who has written to it."""
    found = find_running(running.home)
    if found is None:
        raise RuntimeError("the gateway is gone")
    client = client_for(found)
    for number in range(count):
        order = FactOrder(user=user, key=f"note {number}", value=sentence(number))
        client.post("/control/memory", FactReport, body=order)


def wait_idle(pid: int) -> None:
    """Wait until a process has nothing left to do behind its answers."""
    deadline = monotonic() + _IDLE_MOST_S
    while monotonic() < deadline:
        before = cpu_s(pid)
        sleep(_IDLE_LOOK_S)
        if cpu_s(pid) - before < _IDLE_SHARE * _IDLE_LOOK_S:
            return
    raise RuntimeError(f"the gateway was busy for {_IDLE_MOST_S:g} s behind its answers")
