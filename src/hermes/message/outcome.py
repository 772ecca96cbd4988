"""How things end: the outcome of a message, the state of a delivery, and intermediate states."""

from enum import StrEnum


class Outcome(StrEnum):
    """Every accepted message ends in exactly one of these."""

    ANSWERED = "answered"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    MERGED = "merged"
    EXPIRED = "expired"
    REFUSED = "refused"
    OVERHEARD = "overheard"


class MessageState(StrEnum):
    """The state of an accepted message."""

    NEW = "new"
    RUNNING = "running"
    PARKED = "parked"
    MERGING = "merging"
    DONE = "done"


class DeliveryState(StrEnum):
    """The state of a reply on its way out."""

    PREVIEW = "preview"
    PENDING = "pending"
    SENDING = "sending"
    RETRY = "retry"
    SENT = "sent"
    UNKNOWN = "unknown"
    DEAD = "dead"


class BusyPolicy(StrEnum):
    """What happens with a message that finds its lane busy."""

    INTERRUPT = "interrupt"
    QUEUE = "queue"
    STEER = "steer"
