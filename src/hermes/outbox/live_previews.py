"""What the previews of this process show now, so that the reply repeats no edit.

In memory only. After a restart one edit is repeated, which changes nothing.
"""

import msgspec

# Previews whose turn was abandoned are never requested; only this many are remembered.
_MOST = 1000


class PreviewMessages(msgspec.Struct):
    """The text of each message that shows one reply, and when the first was posted."""

    texts: list[str] = []
    since: float | None = None

    def put(self, number: int, text: str) -> None:
        """Record what message `number` shows now."""
        self.texts[number:] = [text, *self.texts[number + 1 :]]

    def text(self, number: int) -> str | None:
        """Return what message `number` shows, if known."""
        return self.texts[number] if number < len(self.texts) else None


class LivePreviews:
    """The preview messages of all replies that are being shown, by delivery."""

    def __init__(self) -> None:
        self._screens: dict[str, PreviewMessages] = {}

    def open(self, delivery_id: str) -> PreviewMessages:
        """Return the preview messages of a delivery; empty ones if it is new."""
        if len(self._screens) >= _MOST:
            del self._screens[next(iter(self._screens))]
        return self._screens.setdefault(delivery_id, PreviewMessages())

    def of(self, delivery_id: str) -> PreviewMessages | None:
        """Return the preview messages of a delivery, if this process has shown it."""
        return self._screens.get(delivery_id)

    def close(self, delivery_id: str) -> None:
        """Forget a delivery that has ended."""
        self._screens.pop(delivery_id, None)
