"""All errors of Hermes in one tree; each class says what the caller can do about it.

HermesError
├── Refused                 give up, or change the request
│   ├── BadRequest          the input is malformed: fix it
│   ├── Unauthenticated     no valid credential was shown
│   ├── Forbidden           the credential does not allow this
│   ├── NotFound            the named thing does not exist
│   │   └── ResponseNotFound    no response of this id is stored for the key
│   │       └── PreviousResponseNotFound    nor can it be continued
│   ├── Conflict            the id is taken by another body
│   ├── AgentUnavailable    the agent is stopped, is being deleted, or its model cannot be called
│   ├── Skipped             a hook of the operator drops the message
│   ├── TooLarge            the input exceeds a limit
│   └── NoCredits           the person's wallet cannot pay for the message
├── TryLater                nothing was kept; the same request may succeed later
│   ├── Overloaded          a queue or a limit is full
│   │   └── NoPlace         no slot for a model call became free in time
│   ├── StorageFull         the disk reserve is touched
│   ├── RateLimited         a key is used too often, or a sender has too much waiting
│   ├── OverBudget          a spending limit has no room; it opens again later
│   ├── ModelsStopped       the kill switch is on
│   ├── AgentNotReady       the agent is being prepared
│   └── NoSummaryModel      the settings allow no model to sum up
├── ConfigurationError      the operator has to change a setting
├── AlreadyRunning          another process owns this home
├── CredentialInUse         another process uses a channel's credential; it is tried again
├── StoreError              the database failed; nothing of the unit was written
│   ├── StoreRejected       the database will never take this unit
│   │   ├── PersonErased    the person's data key was destroyed
│   │   └── StoreDamaged    the database file is damaged; another message would fail, too
│   ├── ResponseNotStored   an answer of /v1/responses could not be stored
│   └── GuardFailed         a guarded write found another state
│       ├── SendingBegan    a reply that was not being sent is by now
│       └── LeaseLost       another worker holds the lane now
├── CounterDown             the fast counters cannot be reached
├── ProviderError           a model call failed
│   ├── ProviderUnavailable connect failure, 429, 5xx: another candidate may do
│   │   └── ProviderCooling it failed before and is not called for a while
│   ├── ProviderRejected    this service refuses; `everywhere`: so would every other
│   │   └── PromptTooLong   the request does not fit the model's context
│   ├── ProviderTimeout     no output in time
│   ├── StreamTruncated     the stream ended before its end marker
│   ├── AnswerTooLong       the model wrote more than one answer may have
│   └── AnswerInvalid       the answer does not fit the schema that was asked for
├── DeliveryError           a reply could not be sent
│   ├── NotDelivered        not sent for certain; may be retried
│   ├── DeliveryRejected    the platform refuses it for good
│   │   └── ReplyClosed     the message that it answers can no longer be answered; nothing was sent
│   └── DeliveryUnknown     the request was sent, its answer was lost
├── NetError                a wire call failed; its text holds no path, query or credential
│   ├── AddressRefused      the address may not be fetched; nothing was sent
│   ├── ConnectFailed       no connection; nothing was sent, trying again is safe
│   │   └── TlsFailed       the peer's certificate is not valid
│   ├── AnswerLost          the request was sent, its answer did not arrive whole
│   └── AnswerTooLarge      the answer exceeds the caller's limit
├── AdapterError            the program or the remote agent that runs an agent failed
│   └── AdapterLost         it was cut off by a crash and cannot go on: part of its work may be done
├── ToolError               a tool failed; the model receives the error
└── TurnInterrupted         the person stopped the turn
"""

from enum import StrEnum
from typing import Self


class HermesError(Exception):
    """The root of every error that Hermes raises on purpose."""

    code = "error"


class Refused(HermesError):
    """The request cannot succeed as it is."""

    code = "refused"


class BadRequest(Refused):
    """The input is malformed."""

    code = "bad_request"


class Unauthenticated(Refused):
    """No valid credential was shown."""

    code = "unauthenticated"


class Forbidden(Refused):
    """The credential does not allow this."""

    code = "forbidden"


class NotFound(Refused):
    """The named thing does not exist."""

    code = "not_found"


class ResponseNotFound(NotFound):
    """No response of this id is stored for the key that asks."""

    code = "response_not_found"
    text = "Response with id {!r} not found."

    def __init__(self, response_id: str) -> None:
        super().__init__(self.text.format(response_id[:80]))


class PreviousResponseNotFound(ResponseNotFound):
    """The response to continue, or one that it continues, is not stored for the key that asks."""

    code = "previous_response_not_found"
    param = "previous_response_id"
    text = (
        "Previous response with id {!r} not found, or one that it continues: send the whole"
        " conversation as `input`, without previous_response_id."
    )


class Conflict(Refused):
    """The id is already taken by another body."""

    code = "conflict"


class AgentUnavailable(Refused):
    """The agent answers nobody until an operator does something; the text says what."""

    code = "agent_unavailable"


class Skipped(Refused):
    """A hook skipped the message; `refusal` is the id under which that is noted."""

    code = "skipped"
    refusal: str | None = None


class TooLarge(Refused):
    """The input exceeds a limit."""

    code = "too_large"


class NoCredits(Refused):
    """The person's wallet has less than the message costs."""

    code = "no_credits"

    def __init__(self, text: str = "", *, balance: int = 0, price: int = 0) -> None:
        super().__init__(
            text or f"no credits are left for it: it costs {price}, the balance is {balance}"
        )
        self.balance = balance
        self.price = price


class TryLater(HermesError):
    """Nothing was kept; the same request may succeed after `retry_after` seconds."""

    code = "try_later"

    def __init__(self, text: str, retry_after: float = 5.0) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class Overloaded(TryLater):
    """A queue or a limit is full."""

    code = "overloaded"


class NoPlace(Overloaded):
    """No slot for a model call became free while the call could wait; try again later."""


class StorageFull(TryLater):
    """The disk reserve is touched or the database cannot grow."""

    code = "storage_full"


class RateLimited(TryLater):
    """A key is used more often than it may be, or a sender has too many messages waiting.

    Others are not affected: a channel that takes messages in order passes it over at once.
    `refusal` is the id under which that is noted, `per_minute` the rate of a key that was exceeded.
    """

    code = "rate_limited"
    refusal: str | None = None
    per_minute: int | None = None


class OverBudget(TryLater):
    """A spending limit has no room for the call; `limit` names it for the operator."""

    code = "over_budget"

    def __init__(self, text: str, retry_after: float, *, limit: str = "") -> None:
        super().__init__(text, retry_after)
        self.limit = limit


class ModelsStopped(TryLater):
    """The operator has stopped every model call."""

    code = "kill_switch"


class AgentNotReady(TryLater):
    """The agent was made just now, and its model is still being checked."""

    code = "agent_not_ready"


class NoSummaryModel(TryLater):
    """A model could sum up, and the settings keep summaries on this machine; the job waits."""

    code = "no_summary_model"


class CounterDown(HermesError):
    """The fast counters cannot be reached; the ledger still stands."""

    code = "counter_down"


class ConfigurationError(HermesError):
    """The operator has to change a setting; the text says which and how."""

    code = "configuration"


class AlreadyRunning(HermesError):
    """Another process owns this home."""

    code = "already_running"


class CredentialInUse(HermesError):
    """Another process of this machine uses the credential of a channel; it may end at any time."""

    code = "credential_in_use"


class StoreError(HermesError):
    """The database failed; nothing of the unit was written."""

    code = "store"


class StoreRejected(StoreError):
    """The unit itself is at fault: trying it again cannot help."""

    code = "store_rejected"


class PersonErased(StoreRejected):
    """Nothing more can be kept for a person whose data key was destroyed."""

    code = "person_erased"


class StoreDamaged(StoreRejected):
    """The database file is damaged: neither the unit nor its caller is at fault."""

    code = "store_damaged"


class ResponseNotStored(StoreError):
    """The answer to a call could not be stored, so it cannot be continued."""

    code = "response_not_stored"

    def __init__(self) -> None:
        super().__init__(
            "The answer could not be stored; see the log of Hermes. Send `store: false` to get"
            " answers that are not stored."
        )


class GuardFailed(StoreError):
    """A guarded write found another state than the caller expected."""

    code = "guard_failed"


class SendingBegan(GuardFailed):
    """A command says that no reply is being sent, and one is by now."""

    code = "sending_began"


class LeaseLost(GuardFailed):
    """The lane's lease has expired or belongs to somebody else."""

    code = "lease_lost"


def note_unsent(error: BaseException) -> None:
    """Note on a cancellation that it came before any of the request was sent."""
    error.hermes_is_unsent = True  # type: ignore[attr-defined]


def is_unsent(error: BaseException | None) -> bool:
    """Return True if a cancellation came before any of the request was sent."""
    return bool(getattr(error, "hermes_is_unsent", False))


class ProviderError(HermesError):
    """A model call failed; `status` is the HTTP status that said so, if one did.

    `was_sent` is True if the service got the request and did not refuse it: it may bill the input.
    `is_callers` is True if the request itself led to an answer without words: then what the try
    cost counts for who asked. `service_code` is the service's own code of the error, and `param` the
    field of the request that it names.
    """

    code = "provider"
    was_sent = False
    is_callers = False
    service_code: str | None = None
    param: str | None = None

    def __init__(self, text: str, *, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status

    def named(self, service_code: str | None, param: str | None) -> Self:
        """Add the service's own names for the error, and return it."""
        self.service_code, self.param = service_code, param
        return self


class ProviderUnavailable(ProviderError):
    """The service cannot answer now; `retry_after` is its own word on when, if it gave one.

    `is_unreached` says that there was no connection: any other request would have failed, too.
    """

    code = "provider_unavailable"

    def __init__(
        self,
        text: str,
        retry_after: float | None = None,
        *,
        status: int | None = None,
        was_sent: bool = False,
        is_unreached: bool = False,
    ) -> None:
        super().__init__(text, status=status)
        self.retry_after = retry_after
        self.was_sent = was_sent
        self.is_unreached = is_unreached


class ProviderCooling(ProviderUnavailable):
    """The service failed before and is left alone for `retry_after` seconds; nothing was sent."""

    code = "provider_cooling"


class ProviderRejected(ProviderError):
    """The service refuses the request; `everywhere` says that any other would refuse it, too.

    It is False for whatever is this service's own matter: the key, the model, a parameter that it
    does not know, its context length, its content filter. Then another candidate may do.
    """

    code = "provider_rejected"

    def __init__(self, text: str, *, everywhere: bool = False, status: int | None = None) -> None:
        super().__init__(text, status=status)
        self.everywhere = everywhere


class PromptTooLong(ProviderRejected):
    """The request does not fit the context of the model: what cannot be left out is too long.

    With a `status` the service said so; without one nobody was asked, and `needed` and `limit` are
    the estimated tokens of the request and the most that the model can take. `counts_output` says
    that the service added the output limit to the prompt.
    """

    code = "prompt_too_long"

    def __init__(
        self,
        text: str,
        *,
        needed: int = 0,
        limit: int = 0,
        status: int | None = None,
        counts_output: bool = False,
    ) -> None:
        super().__init__(text, status=status)
        self.needed = needed
        self.limit = limit
        self.counts_output = counts_output


class ProviderTimeout(ProviderError):
    """The service gave no output in time."""

    code = "provider_timeout"
    was_sent = True


class StreamTruncated(ProviderError):
    """The stream ended before its end marker."""

    code = "stream_truncated"
    was_sent = True


class AnswerTooLong(ProviderError):
    """The model wrote more than one answer may have; what it wrote so far was cut there."""

    code = "answer_too_long"
    was_sent = True
    is_callers = True


class AnswerInvalid(ProviderError):
    """The answer does not fit the schema that was asked for; `answer` is what the model wrote."""

    code = "answer_invalid"
    was_sent = True

    def __init__(self, text: str, *, answer: str) -> None:
        super().__init__(text)
        self.answer = answer


class FailureClass(StrEnum):
    """Why a delivery failed, as dead letters are sorted by it."""

    RATE_LIMITED = "rate_limited"
    NETWORK_TIMEOUT = "network_timeout"
    SERVICE_UNAVAILABLE = "service_unavailable"
    UNAUTHORIZED = "unauthorized"
    INVALID_RECIPIENT = "invalid_recipient"
    TOO_OLD = "too_old"
    REPLY_CLOSED = "reply_closed"
    REJECTED = "rejected"


class DeliveryError(HermesError):
    """A reply could not be sent.

    `retry_after` is the platform's word on when it takes more: in that chat, or, where it is
    `platform_wide`, in any. `credential` says that not the message was refused but the channel's
    credential: the channel is stopped, and its replies wait for it.
    """

    code = "delivery"

    def __init__(
        self,
        text: str,
        failure: FailureClass,
        *,
        retry_after: float | None = None,
        platform_wide: bool = False,
        credential: bool = False,
    ) -> None:
        super().__init__(text)
        self.failure = failure
        self.retry_after = retry_after
        self.platform_wide = platform_wide
        self.credential = credential


class NotDelivered(DeliveryError):
    """The message certainly did not arrive; sending it again is safe."""

    code = "not_delivered"


class DeliveryRejected(DeliveryError):
    """The platform refused the message for good."""

    code = "delivery_rejected"


class ReplyClosed(DeliveryRejected):
    """The platform takes no more replies to the message that this one answers; nothing was sent."""

    code = "reply_closed"


class DeliveryUnknown(DeliveryError):
    """The request left and its answer was lost; the message may have arrived."""

    code = "delivery_unknown"


class NetError(HermesError):
    """A wire call failed."""

    code = "net"


class AddressRefused(NetError):
    """The address may not be fetched; nothing was sent."""

    code = "address_refused"


class ConnectFailed(NetError):
    """No connection was made; nothing was sent."""

    code = "connect_failed"


class TlsFailed(ConnectFailed):
    """The peer's certificate or handshake is not acceptable; nothing was sent."""

    code = "tls_failed"


class AnswerLost(NetError):
    """The request left, and its answer was cut off, reset or late."""

    code = "answer_lost"


class AnswerTooLarge(NetError):
    """The answer is larger than the caller allows."""

    code = "answer_too_large"


class AdapterError(HermesError):
    """What runs an agent failed; the text is for operators and for the person who wrote."""

    code = "adapter_failed"


class AdapterLost(AdapterError):
    """A call was cut off and cannot be taken up again: part of its work may be done."""

    code = "adapter_lost"


class ToolError(HermesError):
    """A tool failed; its text is told to the model."""

    code = "tool"


class TurnInterrupted(HermesError):
    """The person stopped the running turn."""

    code = "interrupted"
