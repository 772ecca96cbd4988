"""What `hermes why` tells of a message's pictures: what they were sent for, and who looked at them.

Beside `why.py`, which makes the report.
"""

from typing import Any

import msgspec

from hermes.ports.steps import TimelineEvent


class WhyPictures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The pictures of a message.

    `rule` told the intent, or the model that was asked; `answered_by` is the pipeline that answered
    itself. `seen` of the pictures were described, by the model `described_by`.
    """

    count: int = 0
    intent: str = ""
    rule: str | None = None
    pipeline: str | None = None
    answered_by: str | None = None
    described: int | None = None
    seen: int | None = None
    described_by: str | None = None


def pictures_of(events: tuple[TimelineEvent, ...]) -> WhyPictures | None:
    """Return the outcome of a message's pictures, and of earlier ones that it made somebody see."""
    told: dict[str, Any] = {}
    for event in events:
        data = event.data
        if event.kind == "images":
            told |= {key: data.get(key) for key in ("count", "intent", "rule", "pipeline")}
        elif event.kind == "image_intent":
            told |= {"intent": data.get("intent"), "rule": f"asked {data.get('by')}"}
        elif event.kind == "vision_answered":
            told["answered_by"] = data.get("pipeline")
            told["described_by"] = data.get("model")
        elif event.kind == "described":
            told |= {"described": data.get("count"), "seen": data.get("seen")}
            told["described_by"] = data.get("by")
    if not told:
        return None
    try:
        return msgspec.convert(told, WhyPictures)
    except msgspec.ValidationError:
        # Written by another version: the timeline still shows the events as they are.
        return None


def pictures_text(pictures: WhyPictures) -> str:
    """Return it in one line."""
    pieces = []
    if pictures.count:
        rule = f", by {pictures.rule!r}" if pictures.rule else ""
        pieces.append(f"{pictures.count} ({pictures.intent}{rule})")
    by = f" with {pictures.described_by}" if pictures.described_by else ""
    if pictures.answered_by:
        pieces.append(f"answered by the pipeline {pictures.answered_by}{by}")
    elif pictures.described is None:
        pieces.append("shown to the model")
    elif pictures.seen:
        pieces.append(f"{pictures.seen} of {pictures.described} described{by}")
    else:
        pieces.append("nobody could look at them")
    return "; ".join(pieces)
