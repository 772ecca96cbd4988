"""The proofs of real platforms as rows, each with a call that its platform or its makers published."""

from dataclasses import dataclass, field

from hermes.ports.channel import HttpRequest
from hermes.ports.channel_rows import ProofRow

# The page shows this body on one line; the signature fits it as it was written.
_QQ_BODY = b'{\n  "op": 0,\n  "d": {},\n  "t": "GATEWAY_EVENT_NAME"\n}'
_SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554"
    b"%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
_WECOM_SEALED = (
    "RypEvHKD8QQKFhvQ6QleEB4J58tiPdvo+rtK1I9qca6aM/wvqnLSV5zEPeusUiX5L5X/0lWfrf0QADHHhGd3QczcdCUpj911"
    "L3vg3W/sYYvuJTs3TUUkSUXxaccAS0qhxchrRYt66wiSpGLYL42aM6A8dTT+6k4aSknmPj48kzJs8qLjvd4Xgpue06DOdnLx"
    "AUHzM6+kDZ+HMZfJYuR+LtwGc2hgf5gsijff0ekUNXZiqATP7PF5mZxZ3Izoun1s4zG4LUMnvw2r+KqCKIw+3IQH03v+BCA9"
    "nMELNqbSf6tiWSrXJB3LAVGUcallcrw8V2t9EL4EhzJWrQUax5wLVMNS0+rUPA3k22Ncx4XXZS9o0MBH27Bo6BpNelZpS+/u"
    "h9KsNlY6bHCmJU9p8g7m3fVKn28H3KDYA5Pl/T8Z1ptDAVe0lXdQ2YoyyH2uyPIGHBZZIs2pDBS8R07+qN+E7Q=="
)
_TWILIO_FORM = b"CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212"


@dataclass(frozen=True)
class Vector:
    """One published call: it is proven, and nothing near it is."""

    row: ProofRow
    secret: str
    signature: str
    now: float = 0.0
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    url: str = ""

    def call(self) -> HttpRequest:
        """Return the call as it was published."""
        kind, _, name = self.row.at.partition(":")
        shown = {name: self.row.prefix + self.signature}
        return HttpRequest(
            method="POST",
            path="/webhooks/example",
            query=self.query | (shown if kind == "query" else {}),
            headers=self.headers | (shown if kind == "header" else {}),
            body=self.body,
        )


# The examples of the platforms' own documentation; for Discord, which publishes none, the third vector
# of RFC 8032 is in the test.
PUBLISHED: dict[str, Vector] = {
    "slack": Vector(
        ProofRow(
            kind="hmac",
            at="header:x-slack-signature",
            secret="signing_secret",
            prefix="v0=",
            signs=("v0:", "header:x-slack-request-timestamp", ":", "body"),
            time="header:x-slack-request-timestamp",
            window_s=300,
        ),
        "8f742231b10e8888abcd99yyyzzz85a5",
        "a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        now=1531420618,
        body=_SLACK_BODY,
        headers={"x-slack-request-timestamp": "1531420618"},
    ),
    "github and meta": Vector(
        ProofRow(
            kind="hmac", at="header:x-hub-signature-256", secret="app_secret", prefix="sha256="
        ),
        "It's a Secret to Everybody",
        "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
        body=b"Hello, World!",
    ),
    "line": Vector(
        ProofRow(kind="hmac", at="header:x-line-signature", secret="channel_secret", code="base64"),
        "8c570fa6dd201bb328f1c1eac23a96d8",
        "GhRKmvmHys4Pi8DxkF4+EayaH0OqtJtaZxgTD9fMDLs=",
        body=b'{"destination":"U8e742f61d673b39c7fff3cecb7536ef0","events":[]}',
    ),
    "standard webhooks": Vector(
        ProofRow(
            kind="hmac",
            at="header:webhook-signature",
            secret="secret",
            key="whsec",
            code="base64",
            prefix="v1,",
            many=" ",
            signs=("header:webhook-id", ".", "header:webhook-timestamp", ".", "body"),
            time="header:webhook-timestamp",
            window_s=300,
        ),
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        now=1614265330,
        body=b'{"test": 2432232314}',
        headers={
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
        },
    ),
    "twilio": Vector(
        ProofRow(
            kind="hmac",
            at="header:x-twilio-signature",
            secret="auth_token",
            algorithm="sha1",
            code="base64",
            signs=("url", "sorted_form"),
        ),
        "12345",
        "RSOYDt4T1cUTdK1PDd93/VVr8B8=",
        body=_TWILIO_FORM,
        headers={"content-type": "application/x-www-form-urlencoded; charset=UTF-8"},
        url="https://mycompany.com/myapp.php?foo=1&bar=2",
    ),
    "wecom": Vector(
        ProofRow(
            kind="digest",
            at="query:msg_signature",
            secret="token",
            algorithm="sha1",
            sorted=True,
            signs=("secret", "query:timestamp", "query:nonce", "field:Encrypt"),
        ),
        "QDG6eK",
        "477715d11cdb4164915debcba66cb864d751f3e6",
        body=(
            b"<xml><ToUserName><![CDATA[wx5823bf96d3bd56c7]]></ToUserName><Encrypt><![CDATA["
            + _WECOM_SEALED.encode()
            + b"]]></Encrypt><AgentID><![CDATA[218]]></AgentID></xml>"
        ),
        query={"timestamp": "1409659813", "nonce": "1372623149"},
    ),
    "qq": Vector(
        ProofRow(
            kind="ed25519",
            at="header:x-signature-ed25519",
            secret="app_secret",
            seeded=True,
            signs=("header:x-signature-timestamp", "body"),
        ),
        "naOC0ocQE3shWLAfffVLB1rhYPG7",
        "865ad13a61752ca65e26bde6676459cd36cf1be609375b37bd62af366e1dc25a"
        "8dc789ba7f14e017ada3d554c671a911bfdf075ba54835b23391d509579ed002",
        body=_QQ_BODY,
        headers={"x-signature-timestamp": "1725442341"},
    ),
}
