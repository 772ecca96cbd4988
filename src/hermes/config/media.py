"""The settings of attachments: what is taken, how long it is kept, and from where files may be sent."""

from typing import Annotated

from pydantic import Field

from hermes.config.section import Count, Days, Means, Seconds, Section, Word

_LABEL = r"\w([\w-]*\w)?"
LinkHost = Annotated[
    str,
    Field(max_length=253, pattern=rf"^(\*\.)?{_LABEL}(\.{_LABEL})*\.?$"),
    Means("a host such as example.com or *.example.com"),
]


class MediaSettings(Section):
    """Pictures, sounds and files that people send and are sent."""

    max_bytes: Count = Field(
        default=20_000_000, description="The largest attachment that is taken or sent, in bytes."
    )
    max_files: Count = Field(
        default=10, description="At most this many attachments of one message are fetched or sent."
    )
    timeout_s: Seconds = Field(
        default=30.0,
        description="How long a turn waits for the attachments of its message, all together.",
    )
    max_pixels: Count = Field(
        default=50_000_000,
        description="A picture with more pixels is refused; its bytes are not unpacked to know it.",
    )
    cache_mb: Count = Field(
        default=500, description="How much all kept attachments may take on the disk."
    )
    keep_days: Days = Field(
        default=7, description="How long an attachment is kept after it came, unless still needed."
    )
    folders: tuple[Word, ...] = Field(
        default=(),
        description="Folders whose files an agent may send with a MEDIA: line, beside what was "
        "sent to it; what is hidden in them, and Hermes' own home, never is.",
    )
    link_hosts: tuple[LinkHost, ...] = Field(
        default=(),
        description="Hosts from which the gateway fetches the https addresses that an agent names "
        "with a MEDIA: line; `*.example.com` is every name below example.com. Addresses of other "
        "hosts are never fetched: the reply shows them as text.",
    )
