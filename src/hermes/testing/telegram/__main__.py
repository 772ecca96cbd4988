"""`python -m hermes.testing.telegram` runs the stand-in as a program; see `stand_in_program`.

In addition to the common verbs it has `release`, which releases hanging calls; `state` also returns
drafts and calls.
"""

import argparse
import asyncio
from typing import Any

from hermes.testing.stand_in_program import serve
from hermes.testing.telegram.server import TelegramStandIn


async def run(options: argparse.Namespace) -> None:
    """Run until the standard input closes."""
    telegram = TelegramStandIn(mode=options.mode, is_limited=options.limits, is_local=options.local)

    async def release(_body: bytes) -> object:
        telegram.release()
        return {}

    def tells(chat: str) -> dict[str, Any]:
        return {"drafts": telegram.drafts(chat), "calls": telegram.calls}

    async def start() -> None:
        await telegram.listen(port=options.port)

    await serve(telegram, start=start, more={"release": release}, tells=tells)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Run the stand-in for Telegram's Bot API.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--mode", choices=["poll", "webhook"], default="poll")
    parser.add_argument(
        "--limits", action="store_true", help="answer 429 to clients that are too fast"
    )
    parser.add_argument("--local", action="store_true", help="call any webhook, as a local server")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
