"""The refusals of the stand-in."""


class SlackError(Exception):
    """A refusal with Slack's code; `rule` is the rule that the caller broke, for the log."""

    def __init__(self, code: str, rule: str = "", *, status: int = 200, **more: object) -> None:
        super().__init__(code)
        self.code = code
        self.rule = rule
        self.status = status
        self.more = more
