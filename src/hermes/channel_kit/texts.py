"""How a channel writes and measures the Markdown of models; a long text is converted in a thread."""

from collections.abc import Callable

from hermes.message.markup.conversion import converted
from hermes.message.markup.dialect import MarkupRow
from hermes.message.markup.marks import Marks
from hermes.message.markup.parse import parse
from hermes.ports.channel_setup import ChannelSetup


class ChannelTexts:
    """The texts of one channel.

    `show` is pure and turns Markdown into what the platform gets; without it the dialect of the manifest
    does.
    """

    def __init__(self, setup: ChannelSetup, show: Callable[[str], str] | None = None) -> None:
        self._show = show or by_marks(setup.rows.markup)
        self._in_bytes = setup.capabilities.unit == "bytes"

    async def written(self, text: str) -> str:
        """Return a Markdown text as the platform gets it."""
        return await converted(lambda: self._show(text), chars=len(text))

    def measure(self, text: str) -> int:
        """Return the length of a Markdown text as the platform gets it, in characters or bytes."""
        shown = self._show(text)
        return len(shown.encode()) if self._in_bytes else len(shown)


def by_marks(row: MarkupRow) -> Callable[[str], str]:
    """Return what turns Markdown into a dialect; words that Markdown hides are shown as they are."""
    marks = Marks(row)
    return lambda text: marks.write(parse(text)) or marks.escape(text)
