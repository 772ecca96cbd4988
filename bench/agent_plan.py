"""The same message to an agent by two wires: `POST /api/messages`, and A2A in its old version."""

from typing import Literal

from bench.plan import Plan

TEXT = "What should I wear in Oslo today? Answer in one sentence."
_ANSWERED = {"rest": b'"outcome":"answered"', "a2a": b'"role":"agent"'}


class AgentPlan(Plan, frozen=True, kw_only=True, tag="agents"):
    """Messages of one token to one agent, each in a conversation of its own."""

    wire: Literal["rest", "a2a"]
    agent: str = "main"
    text: str = TEXT

    def request(self, worker: int, sent: int, *, run: str) -> bytes:
        """Return the next message of a worker."""
        name = f"{self.name}-{run}-{worker}-{sent}"
        if self.wire == "rest":
            body = {"agent": self.agent, "text": self.text, "id": name, "context_id": name}
            return self.post("/api/messages", body)
        return self.post(f"/workspaces/{self.agent}/a2a", a2a_request(self.text, name))

    def problem(self, status: int, body: bytes) -> str | None:
        """Return what is wrong with an answer, or None."""
        if status == 200 and _ANSWERED[self.wire] in body:
            return None
        return f"{status} {body[:300]!r}"


def a2a_request(text: str, name: str) -> dict[str, object]:
    """Return a message as an old client sends it."""
    message = {
        "kind": "message",
        "role": "user",
        "messageId": name,
        "contextId": name,
        "parts": [{"kind": "text", "text": text}],
    }
    return {"jsonrpc": "2.0", "id": name, "method": "message/send", "params": {"message": message}}
