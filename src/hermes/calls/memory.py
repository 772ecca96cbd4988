"""The answer cache: its key, and when a cached answer may be used.

The key covers everything that goes to the model and whose answer it was, so that two different
calls, people or agents never share an answer.
"""

import msgspec

from hermes.calls.events import FullAnswer
from hermes.config import CacheSettings
from hermes.message.parts import ImagePart, Part, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.clock import Clock
from hermes.ports.keys import KeptAnswer
from hermes.ports.provider import CallEnd, ModelRequest
from hermes.ports.spend import Account
from hermes.ports.store import Store
from hermes.routing.plan import Candidate


class _StoppedAnswer(msgspec.Struct, frozen=True):
    """An answer that a stop sequence ended; all others are stored as their parts alone."""

    parts: tuple[Part, ...]
    stop_sequence: str


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[Part, ...] | _StoppedAnswer).decode


class AnswerMemory:
    """Finds and stores cached answers."""

    def __init__(self, store: Store, *, settings: CacheSettings, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self.hits = 0

    async def find(
        self, account: Account, candidate: Candidate, request: ModelRequest
    ) -> FullAnswer | None:
        """Return the answer that this person's agent got to exactly this request."""
        if not can_be_kept(request):
            return None
        kept = await self._store.answers.get(
            self.digest(account, candidate, request),
            person_id=account.person_id,
            now=self._clock.now(),
        )
        if kept is None:
            return None
        self.hits += 1
        found = _decode(kept.body)
        if isinstance(found, _StoppedAnswer):
            parts, sequence = found.parts, found.stop_sequence
        else:
            parts, sequence = found, None
        end = CallEnd(parts, "end", Usage(), kept.model, stop_sequence=sequence)
        return FullAnswer(candidate=candidate, end=end, cached_from=kept.call_id)

    async def keep(
        self, account: Account, request: ModelRequest, answer: FullAnswer, *, call_id: str
    ) -> None:
        """Store a whole answer; one that was cut or that calls tools is not stored."""
        end = answer.end
        is_whole = end.stop_reason == "end" and not end.skipped
        whole = is_whole and not any(isinstance(p, ToolCallPart) for p in end.parts)
        if not whole or answer.cached_from is not None or not can_be_kept(request):
            return
        now = self._clock.now()
        kept = KeptAnswer(
            digest=self.digest(account, answer.candidate, request),
            person_id=account.person_id,
            agent=account.agent,
            model=end.model,
            call_id=call_id,
            body=_body(end),
            usage=end.usage,
            stop_reason=end.stop_reason,
            at=now,
            expires_at=now + self._settings.max_age_s,
        )
        rules = self._settings
        await self._store.answers.put(kept, keep=rules.max_answers, each=rules.max_answers_each)

    def digest(self, account: Account, candidate: Candidate, request: ModelRequest) -> bytes:
        """Return the key of an answer: a keyed hash of everything it depends on."""
        model = (candidate.provider, candidate.model)
        return self._store.digest(_encode((account.person_id, account.agent, model, request)))


def _body(end: CallEnd) -> bytes:
    if end.stop_sequence is None:
        return _encode(end.parts)
    return _encode(_StoppedAnswer(end.parts, end.stop_sequence))


def can_be_kept(request: ModelRequest) -> bool:
    """Return whether a request contains all its answer depends on: no tools, no pictures.

    Log probabilities are not kept, so an answer with them is not either.
    """
    if request.tools or (request.extras is not None and request.extras.top_logprobs is not None):
        return False
    return not any(
        isinstance(part, ImagePart) for message in request.messages for part in message.parts
    )
