"""A reply that is shown while it is written: the cursor stands inside its code block on each platform.

And what every platform that shows one by editing needs: a pace.
"""

from collections.abc import Callable

import pytest

from hermes.channels.matrix import format as matrix
from hermes.message.markup.marks import Marks
from hermes.message.markup.model import Document
from hermes.message.markup.parse import parse
from hermes.message.markup.split import split
from hermes.outbox.preview import open_fence, with_cursor
from hermes.plugins.manifest import load_capabilities, load_manifest

CURSOR = " ▉"
SO_FAR = (
    "Look:\n\n```py\n" + "".join(f"value_{number} = {number}\n" for number in range(60)) + "x ="
)


def _marks(platform: str) -> Callable[[Document], str]:
    return Marks(load_manifest(f"hermes.channels.{platform}").markup).write


FORMATS = {
    "telegram": (_marks("telegram"), "x = ▉</code></pre>"),
    "slack": (_marks("slack"), "x = ▉\n```"),
    "matrix": (matrix.render, "x = ▉\n</code></pre>"),
}


@pytest.mark.req("W19", "W10")
@pytest.mark.parametrize("platform", FORMATS)
def test_the_cursor_stands_in_the_code_that_goes_on_in_another_message(platform: str) -> None:
    render, end = FORMATS[platform]
    last = split(SO_FAR, limit=400, measure=len)[-1]

    shown = render(parse(with_cursor(last, CURSOR, is_open=bool(open_fence(SO_FAR)))))

    assert shown.rstrip().endswith(end)
    assert shown.count("`") == (6 if platform == "slack" else 0)


@pytest.mark.req("W19", "W10")
@pytest.mark.parametrize("platform", FORMATS)
def test_the_cursor_stands_after_a_block_that_has_ended(platform: str) -> None:
    render, _ = FORMATS[platform]

    shown = render(parse(with_cursor("```\nx = 1\n```", CURSOR)))

    assert "▉" in shown[shown.index("x = 1") + 6 :].replace("</code></pre>", "").replace("`", "")
    assert "x = 1 ▉" not in shown
    assert shown.rstrip().removesuffix("</p>").endswith("▉")


@pytest.mark.req("W19", "A27")
@pytest.mark.parametrize("platform", ["email", "matrix", "slack", "telegram", "webhook"])
def test_every_platform_that_can_edit_has_a_pace(platform: str) -> None:
    can = load_capabilities(f"hermes.channels.{platform}")

    assert not can.edit or (can.chat_gap_s >= 1.0 and can.group_gap_s >= 1.0)
