"""The refusals of the stand-in."""

from typing import Any


class ApiError(Exception):
    """A refusal in the Bot API's own form; `is_rule` means that the caller broke a rule."""

    def __init__(
        self,
        code: int,
        description: str,
        *,
        is_rule: bool = True,
        **parameters: Any,
    ) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.is_rule = is_rule
        self.parameters = parameters

    @property
    def body(self) -> dict[str, Any]:
        """The answer's JSON."""
        body: dict[str, Any] = {
            "ok": False,
            "error_code": self.code,
            "description": self.description,
        }
        return {**body, "parameters": self.parameters} if self.parameters else body


def bad(text: str) -> ApiError:
    """Return a 400 with Telegram's text."""
    return ApiError(400, f"Bad Request: {text}")
