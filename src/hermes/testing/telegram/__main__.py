"""`python -m hermes.testing.telegram` runs the stand-in as a program; see `stand_in_program`.

`state` also returns drafts and calls.
"""

from hermes.testing.stand_in_program import run_site
from hermes.testing.telegram.platform import TelegramStandIn

if __name__ == "__main__":
    run_site(
        TelegramStandIn,
        modes=("poll", "webhook"),
        flags={
            "limits": ("is_limited", "answer 429 to clients that are too fast"),
            "local": ("is_local", "call any webhook, as a local server"),
        },
        tells=lambda site, chat: {"drafts": site.drafts_in(chat), "calls": site.calls},
    )
