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
        default=20_000_000, description="The largest attachment that is received or sent, in bytes."
    )
    max_files: Count = Field(
        default=10, description="At most this many attachments of one message are fetched or sent."
    )
    timeout_s: Seconds = Field(
        default=30.0,
        description="How long a turn waits for all attachments of its message together.",
    )
    max_pixels: Count = Field(
        default=50_000_000,
        description="A picture with more pixels is refused; the size is read from its header.",
    )
    cache_mb: Count = Field(
        default=500, description="The maximum disk space of all stored attachments."
    )
    keep_days: Days = Field(
        default=7,
        description="How long an attachment is stored after it arrived, unless still needed.",
    )
    folders: tuple[Word, ...] = Field(
        default=(),
        description="Folders whose files an agent may send with a MEDIA: line, in addition to "
        "files that were sent to it. Hidden files, and files in Hermes' own home folder, are "
        "never sent.",
    )
    link_hosts: tuple[LinkHost, ...] = Field(
        default=(),
        description="Hosts from which the gateway downloads https addresses in MEDIA: lines; "
        "`*.example.com` matches every name below example.com. Addresses of other hosts are "
        "never fetched: the reply shows them as text.",
    )
