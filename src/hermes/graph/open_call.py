"""A model call under way: `with graph.call(model=...) as call`.

It pins what is sent when the block begins, and records the call when the block ends, also if the
block fails.
"""

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import msgspec

from hermes.errors import BadRequest
from hermes.graph.blob import Message
from hermes.graph.context import Context
from hermes.graph.recorder import check_sent
from hermes.graph.records import Call


class _Answer(msgspec.Struct):
    message: Mapping[str, Any]
    facts: dict[str, Any]
    metadata: dict[str, Any]


class OpenCall:
    """A call that is not recorded yet; send `messages` to the model, then call `answer()`."""

    def __init__(
        self, context: Context, record: Callable[..., Call], *, model: str, facts: Mapping[str, Any]
    ) -> None:
        self.context = context
        self.messages: list[Message] = context.to_list()
        self.model = model
        self.sampling = dict(facts.get("sampling") or {})
        # The call once it is recorded: after the block.
        self.record: Call | None = None
        self._record = record
        self._facts = dict(facts)
        self._metadata = dict(self._facts.pop("metadata") or {})
        self._answer: _Answer | None = None

    def answer(
        self,
        message: Mapping[str, Any] | str,
        *,
        model: str = "",
        usage: Mapping[str, Any] | None = None,
        stop_reason: str = "",
        token_ids: Iterable[int] | None = None,
        logprobs: Iterable[float] | None = None,
        metadata: Mapping[str, Any] | None = None,
        sampled: bool = True,
    ) -> None:
        """Set what the model wrote: a message, or a text; it is recorded when the block ends.

        `model` is the one that answered, if it is another than was asked for.
        """
        if model and model != self.model:
            metadata = {"asked_for": self.model, **(metadata or {})}
            self.model = model
        if isinstance(message, str):
            message = {"role": "assistant", "content": message}
        facts = {
            "usage": usage, "token_ids": token_ids, "logprobs": logprobs, "sampled": sampled
        }  # fmt: skip
        stopped = {"stop_reason": stop_reason} if stop_reason else {}
        self._answer = _Answer(message, facts, {**stopped, **(metadata or {})})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._answer is not None:
            self._record_answer(self._answer)
        elif kind is not None:
            self.fail(kind)
        else:
            raise BadRequest(
                f"The call of {self.model!r} ended without an answer, and nothing was recorded. Call "
                "answer(...) inside the block, or raise an error if the model gave none."
            )

    def _record_answer(self, answer: _Answer) -> None:
        check_sent(self.context, self.messages)
        metadata = self._metadata | answer.metadata
        facts = self._facts | answer.facts
        self.record = self._record(
            answer.message, context=self.context, model=self.model, metadata=metadata, **facts
        )

    def finish(self) -> None:
        """Record the call now, outside a `with` block."""
        self.__exit__(None, None, None)

    def fail(self, kind: type[BaseException]) -> None:
        """Record now that the call gave no answer, because of an error of this kind."""
        # The name only: the text of an error may hold what nobody should read.
        metadata = self._metadata | {"error": kind.__name__}
        self.record = self._record(
            None, context=self.context, model=self.model, metadata=metadata, **self._facts
        )
