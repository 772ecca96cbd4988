"""The manifest of a backup: what an archive must contain, and from which home and key it comes."""

from collections.abc import Callable

import msgspec

from hermes.errors import BadRequest

FORMAT = 1
# The first file of an archive, by which it is recognised, and the last, which proves that it is whole.
HEAD = "hermes-backup.json"
MANIFEST = "manifest.json"
STORE = "store/"
HOME = "home/"
# A longer way to a file would cost a restore the square of its length.
MOST_FOLDERS = 64
MOST_BYTES = 256 * 1024 * 1024


class BackupHead(msgspec.Struct, frozen=True, kw_only=True):
    """The first words of an archive: they never change their form."""

    format: int
    version: str
    made_at: float


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One file of an archive, under its name there."""

    name: str
    size: int
    sha256: str


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the home that the archive does not contain."""

    name: str
    why: str


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Every file of an archive; `key` is the fingerprint of the key that opens the store.

    `signature` is made with that key over everything else.
    """

    format: int
    version: str
    engine: str
    schema_version: int
    home_id: str
    made_at: float
    key: str
    files: tuple[FileEntry, ...]
    left_out: tuple[LeftOut, ...] = ()
    signature: str = ""


_decode = msgspec.json.Decoder(BackupManifest).decode
_decode_head = msgspec.json.Decoder(BackupHead).decode


def signed(manifest: BackupManifest, sign: Callable[[bytes], str]) -> BackupManifest:
    """Return the manifest with its signature."""
    return msgspec.structs.replace(manifest, signature=sign(signed_part(manifest)))


def signed_part(manifest: BackupManifest) -> bytes:
    """Return what a signature covers."""
    return msgspec.json.encode(msgspec.structs.replace(manifest, signature=""))


def read_head(content: bytes) -> BackupHead:
    """Return the head of an archive; raises `BadRequest` if this Hermes cannot read the rest."""
    try:
        head = _decode_head(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"its head cannot be read ({error})") from error
    if head.format != FORMAT:
        raise BadRequest(
            f"it has format {head.format} (made by Hermes {head.version[:40]}), this Hermes reads "
            f"format {FORMAT}; use that version"
        )
    return head


def read_manifest(content: bytes) -> BackupManifest:
    """Return the manifest of an archive; raises `BadRequest` if it cannot be read."""
    try:
        return _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"its manifest cannot be read ({error})") from error
