"""The answers that the upstream gives; a call names one in its text, as `[[long]]`.

The load knows them too, and so it can tell whether an answer came through whole.
"""

import msgspec

_SHORT = "Wear a warm coat, it is two degrees and windy."
_LONG = (
    "Wear a warm coat, a scarf and gloves: it is two degrees, the wind comes from the fjord, and "
    "in the afternoon there will be sleet. Good shoes help, since the pavements are wet. If you "
    "stay out after dark, take a hat too; it will be below zero."
)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A text in `deltas` pieces, `gap_s` apart; the token counts are made up but fixed."""

    text: str
    deltas: int = 1
    gap_s: float = 0.0
    tokens_in: int = 20
    tokens_out: int = 50


MODEL = "bench-1"
ANSWERS = {
    "short": Answer(text=_SHORT, tokens_out=12),
    "long": Answer(text=_LONG, deltas=50),
    "paced": Answer(text=_LONG, deltas=50, gap_s=0.001),
    "slow": Answer(text=_LONG, deltas=50, gap_s=0.4),
}
