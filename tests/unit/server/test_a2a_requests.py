"""Whatever is sent to the endpoint of A2A is answered as the protocol says."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.server.a2a_rig import Rig

METHODS = (
    *("message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe"),
    *("agent/getAuthenticatedExtendedCard", "tasks/pushNotificationConfig/set"),
    *("SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "SubscribeToTask"),
    *("CreateTaskPushNotificationConfig", "GetExtendedAgentCard", "dance", ""),
)
NAMES = (
    *("message", "role", "parts", "kind", "text", "file", "bytes", "uri", "data", "metadata"),
    *("messageId", "contextId", "taskId", "configuration", "blocking", "returnImmediately"),
    *("acceptedOutputModes", "historyLength", "id", "url", "raw", "mediaType", "filename"),
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(("user", "agent", "ROLE_USER", "text", "file", "data", "https://a.example/x"))
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=20,
)
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(("text", "file", "data", "x")),
        "text": st.text(max_size=20) | JSON,
        "data": JSON,
        "raw": st.binary(max_size=20).map(lambda raw: msgspec.json.encode(raw).decode()[1:-1]),
        "file": JSON,
        "url": SCALARS,
    },
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(("user", "ROLE_USER", "ROLE_AGENT", "x")), "parts": st.lists(PARTS)},
    optional={"messageId": SCALARS, "contextId": SCALARS, "taskId": SCALARS, "metadata": JSON},
)
PARAMS = JSON | st.fixed_dictionaries(
    {"message": MESSAGES | JSON}, optional={"configuration": JSON, "tenant": SCALARS}
)
REQUESTS = st.fixed_dictionaries(
    {"jsonrpc": st.sampled_from(("2.0", "1.0")), "method": st.sampled_from(METHODS) | JSON},
    optional={"id": SCALARS | JSON, "params": PARAMS},
)
VERSIONS = st.sampled_from(("", "0.3", "1.0", "9.9", "x"))


# Any: JSON.
def is_answer(found: Any) -> bool:
    """Return whether something is an answer of JSON-RPC."""
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        return False
    if "error" in found:
        return isinstance(found["error"]["code"], int) and "Traceback" not in str(found)
    return "result" in found


async def check(body: bytes, version: str) -> None:
    rig = Rig()
    try:
        found = await rig.said(body, version=version)
    finally:
        await rig.gateway.close()
    assert all(map(is_answer, found if isinstance(found, list) else [found])), found


@pytest.mark.req("M10")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(request=REQUESTS, version=VERSIONS)
async def test_every_request_has_an_answer(request: Any, version: str) -> None:
    await check(msgspec.json.encode(request), version)


@pytest.mark.req("M10")
@settings(max_examples=200, deadline=None)
@given(body=st.binary(max_size=200) | JSON.map(msgspec.json.encode), version=VERSIONS)
async def test_every_body_has_an_answer(body: bytes, version: str) -> None:
    await check(body, version)


@pytest.mark.req("M10")
@settings(max_examples=50, deadline=None)
@given(
    text=st.text(min_size=1, max_size=200).filter(str.strip),
    version=st.sampled_from(("1.0", "0.3")),
)
async def test_every_text_is_answered_whole(text: str, version: str) -> None:
    rig = Rig()
    is_old = version == "0.3"
    part = {"kind": "text", "text": text} if is_old else {"text": text}
    message = {"role": "user" if is_old else "ROLE_USER", "parts": [part]}
    method = "message/send" if is_old else "SendMessage"
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}

    found = await rig.said(msgspec.json.encode(request), version=version)

    answer = found["result"] if is_old else found["result"]["message"]
    assert answer["parts"][0]["text"] == f"You said: {text}"


@pytest.mark.req("M10")
@pytest.mark.parametrize("method", [[], {}, ["message/send"], {"a": 1}, 7, True, None])
async def test_a_method_that_is_no_text_is_an_invalid_request(method: object) -> None:
    request = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {}}

    found = await Rig().said(msgspec.json.encode(request))

    assert (found["id"], found["error"]["code"]) == (7, -32600)
