"""Files that a request holds by value, as data URLs. Pure.

`server/v1` makes the data URLs of documents and sounds; the wires take them apart again. Pictures have
more forms of data URLs, which `media/image_files.py` reads.
"""

import re

import msgspec

from hermes.message.parts import Media

PDF = "application/pdf"
UNNAMED_PDF = "document.pdf"
SOUND_KINDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_FORMATS = {mime: name for name, mime in SOUND_KINDS.items()}
_FILE = re.compile(r"data:([\w.+-]{1,64}/[\w.+-]{1,64});base64,", re.ASCII)


class InlineFile(msgspec.Struct, frozen=True):
    """A file inside a request: its type, and its bytes in base64."""

    mime: str
    data: str

    @property
    def url(self) -> str:
        """The file as a data URL in its plainest form."""
        return f"data:{self.mime};base64,{self.data}"

    @property
    def sound_format(self) -> str:
        """The name of a sound's format, as OpenAI calls it."""
        return _FORMATS.get(self.mime, "wav")


def inline_file(media: Media) -> InlineFile | None:
    """Return the file inside a data URL, or None for anything else."""
    found = _FILE.match(media.url) if media.url is not None else None
    if found is None or media.url is None:
        return None
    return InlineFile(found[1].lower(), media.url[found.end() :])
