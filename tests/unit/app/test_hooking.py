"""W36: what is told of hooks holds no secrets, whatever their errors say."""

import pytest

from hermes.app.make_hooks import GatewayHooks
from hermes.plugins.hook_book import HookBook
from hermes.plugins.hook_worker import HookLimits
from hermes.ports.hooks import Context, Hook


async def leaks(_event: str, _context: Context) -> None:
    raise RuntimeError("refused: hunter2")


@pytest.mark.req("W36", "W35")
async def test_secrets_in_the_error_of_a_hook_are_masked_in_what_is_told_of_it() -> None:
    limits = HookLimits(timeout_s=20, queue=10, failures=1)
    book = HookBook([Hook(name="leaks", events=("agent:end",), handle=leaks)], limits=limits)
    hooks = GatewayHooks(book, mask=lambda text: text.replace("hunter2", "****"))

    book.tell("agent:end", {})
    await hooks.stop()

    (told,) = (await hooks.report()).hooks
    assert told.last_error == "RuntimeError: refused: ****"
    assert hooks.off() == ("leaks (RuntimeError: refused: ****)",)
