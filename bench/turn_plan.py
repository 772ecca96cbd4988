"""Messages through the REST channel; an answer that is no fresh, finished turn is an error."""

from bench.plan import Plan

_ANSWERED = b'"outcome":"answered"'
_FRESH = b'"duplicate":false'


class TurnPlan(Plan, frozen=True, kw_only=True, tag="turns"):
    """Messages, each with an id of its own, each worker in a conversation of its own.

    After `conversation_turns` messages a worker starts a new conversation; 0 means never. A plan
    of the same `name` as an earlier one goes on with its conversations. With `texts` every message
    of a worker says something else, as people do, until all were said.
    """

    conversation_turns: int = 0
    text: str = "What should I wear in Oslo today? Answer in one sentence."
    texts: tuple[str, ...] = ()

    def request(self, worker: int, sent: int, *, run: str) -> bytes:
        """Return the next message of a worker."""
        round_ = sent // self.conversation_turns if self.conversation_turns else 0
        who = f"{self.name}-{worker}-{round_}"
        text = (
            self.texts[(worker + self.workers * sent) % len(self.texts)]
            if self.texts
            else self.text
        )
        message = {"sender": who, "text": text, "id": f"{run}-{worker}-{sent}"}
        return self.post("/api/messages", message)

    def problem(self, status: int, body: bytes) -> str | None:
        """Return what is wrong with an answer, or None."""
        if status == 200 and _ANSWERED in body and _FRESH in body:
            return None
        return f"{status} {body[:300]!r}"
