"""What a channel's manifest says of its wire, as rows: proofs, webhooks, answers, attachments.

The manifest is checked once, and the parts of `channel_kit` read its rows. A platform differs from
another by its rows wherever it can, and by code only where it must.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from hermes.errors import FailureClass
from hermes.message.markup.dialect import MarkupRow

Handshake = Literal[
    "none", "meta_get", "json_challenge", "echo_query", "wechat_echostr", "qq_op13", "discord_ping"
]


class ProofRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a call proves who sent it.

    `at`, `time` and the entries of `signs` name a place in the call: `header:NAME`, `query:NAME`,
    `field:NAME` (of a JSON or XML body), `body`, `url` (the public one), `sorted_form`, `secret`. Any
    other entry of `signs` stands for itself.

    `secret` is the setting that holds the key, and `key` says how it is read: as it stands, as base64
    (`whsec`: after that prefix), or as hex. `prefix` stands before the signature (with `bare`, in any case or not at all); with
    `many`, several signatures are separated by it, and one must fit. `time` is where the call says when it was signed,
    in seconds or milliseconds, and `window_s` how far that may be from now. `sorted` sorts what is
    signed before it is joined; `seeded` makes an Ed25519 key of a secret, repeated up to 32 bytes.
    """

    kind: Literal["hmac", "digest", "ed25519", "shared"]
    at: str
    secret: str
    algorithm: Literal["sha256", "sha1"] = "sha256"
    code: Literal["hex", "base64"] = "hex"
    key: Literal["text", "whsec", "base64", "hex"] = "text"
    signs: tuple[str, ...] = ("body",)
    prefix: str = ""
    bare: bool = False
    many: str = ""
    time: str = ""
    time_in: Literal["s", "ms"] = "s"
    window_s: float = 0.0
    sorted: bool = False
    seeded: bool = False


class TokenRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a call proves who sent it by a JWT (RS256) in its `Authorization` header.

    `audience` is the setting that names for whom it must be. `keys` is the address of the key set, or
    of the OpenID document that names it. `skew_s` is how far the clocks may be apart.
    """

    issuers: tuple[str, ...]
    audience: str
    keys: str
    skew_s: float = 300.0


class WebhookRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a platform calls its webhook.

    `proof` or `token` says how a call is proven. `handshake` is how the platform tries the address
    out; `word` is the setting with the word that it must know (`meta_get`), `echo` the parameter that
    is sent back (`echo_query`).

    `answer_s` is how long the platform waits for an answer; a message that is not stored by then is
    answered with 503, and it sends it again. `accepted` is the status for a message that is stored,
    `refused` the one for a message that is refused for good, `malformed` the one for a call that cannot
    be read (0: that of the error); `final` are headers of either answer, by which the platform knows that
    it need not repeat the call. With `once`, a call is accepted once under its signature, which must
    have a time; that fits platforms that sign each repeat anew.
    """

    proof: ProofRow | None = None
    token: TokenRow | None = None
    handshake: Handshake = "none"
    word: str = ""
    echo: str = ""
    methods: tuple[str, ...] = ("POST",)
    answer_s: float = 2.5
    accepted: int = 200
    refused: int = 0
    malformed: int = 0
    final: Mapping[str, str] = {}
    once: bool = False


class RefusalRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a refused call means; the first row that fits counts, and without one the status.

    A row fits if each of `call`, `status`, `code`, `says` and `has` that is set does: the name of the
    call and the platform's own code (one of several, between spaces), the HTTP status, a piece of its
    sentence (in small letters, one of several between `|`), a field of the answer that is true. `then`
    is what follows: `retry` (it did not
    arrive and is sent again), `reject` (it never will arrive), `unknown` (it may have arrived), `done`
    (it is as it should be). `hint` says what to do, `wide` that the whole platform must wait, `wait_s`
    for how long if the platform does not say.
    """

    failure: FailureClass = FailureClass.REJECTED
    then: Literal["retry", "reject", "unknown", "done"] = "reject"
    call: str = ""
    status: int = 0
    code: str = ""
    says: str = ""
    has: str = ""
    credential: bool = False
    wide: bool = False
    wait_s: float = 0.0
    hint: str = ""


class AnswerRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a platform's JSON answer says what became of a call; dots go into objects.

    `ok` is the field that is true, or 0, if the call succeeded (empty: the HTTP status says it). `code`
    and `says` are the platform's own code and sentence, `wait` the time until it takes more, in
    `wait_unit`.
    """

    ok: str = ""
    code: str = ""
    says: str = ""
    wait: str = ""
    wait_unit: Literal["s", "ms"] = "s"


class RateRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At most `most` messages within `within_s`, on the whole platform or to one chat."""

    scope: Literal["platform", "chat"]
    most: int
    within_s: float


class MediaRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be attached as one kind: its types (`image/*` fits all of them) and its size.

    `otherwise` is what becomes of an attachment that does not fit: another kind, or `name`, the words
    that name it.
    """

    mimes: tuple[str, ...]
    bytes: int
    otherwise: Literal["image", "audio", "video", "file", "name"] = "name"


class CloseRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a close code of a platform's socket means.

    `resume`: connect again and go on; `anew`: connect again with a new session; `final`: the operator
    must change something, and `hint` says what.
    """

    code: int
    then: Literal["resume", "anew", "final"] = "resume"
    hint: str = ""


class SocketRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a platform's socket is kept; read by `channel_kit.socket_session`.

    The server `greets` if its first frame must come before any of ours. `ping_s` is how often the
    socket is pinged by the protocol's own pings (0: never). `leave` is the code with which Hermes
    closes it; on some platforms 1000 would end the session. `renew` says what to do if the server
    announces the end of a connection: open the next one `beside` it, or `after` closing it; one that is
    replaced may stay open for `linger_s`. A close code without a row means `resume`.
    """

    greets: bool = True
    greeting_s: float = 10.0
    ping_s: float = 0.0
    leave: int = 1000
    renew: Literal["beside", "after"] = "after"
    linger_s: float = 15.0
    frame_bytes: int = 4 << 20
    close: tuple[CloseRow, ...] = ()


class ChannelRows(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one manifest.

    `proofs` are those by name among which an operator chooses, `reactions` the platform's names of what
    the bot reacts with.
    """

    webhook: WebhookRow | None = None
    proofs: Mapping[str, ProofRow] = {}
    answer: AnswerRow = AnswerRow()
    refusal: tuple[RefusalRow, ...] = ()
    rate: tuple[RateRow, ...] = ()
    media: Mapping[str, MediaRow] = {}
    socket: SocketRow | None = None
    markup: MarkupRow = MarkupRow()
    reactions: Mapping[Literal["seen", "working", "done"], str] = {}
