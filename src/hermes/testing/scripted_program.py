"""A small program that answers for an agent in JSON lines, and does what the message says.

Run by path, with nothing but the standard library: it may be started where Hermes is not installed. It
keeps its sessions in the folder where it works, `sessions/ID`, one line for each message.

The first word of a message is what it does: `hang`, `deaf` (hangs and ignores SIGTERM), `fork` (leaves
a child that holds the pipe), `nest` (hangs beside a child of another group), `flood` (100 MB in lines), `line` (100 MB in one), `crash`, `quiet` (ends without a
word), `ask`, `model` (calls its model once), `agent` (calls an agent as if it were one), `picture` (sends
its model a picture at an address), `post` (asks something else of the gateway), `leak` (says what is in
a variable), `look` (says how large the attached files are, and overwrites them). Anything else is answered.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

LONG_S = 1_000
BEGS = 20_000
FLOOD = 100_000_000
PIECE = "x" * 1_000
VARIABLES = os.environ  # noqa: TID251  it is no part of Hermes: it runs by itself


def tell(**line: object) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def call_model(text: str, model: str, *, picture: str = "") -> str:
    """Call a model, and return its answer, or the status with which it is refused."""
    content: list[object] = [{"type": "text", "text": text}]
    if picture:
        content.append({"type": "image_url", "image_url": {"url": picture}})
    body = {"model": model, "messages": [{"role": "user", "content": content}]}
    request = urllib.request.Request(
        VARIABLES["SCRIPTED_MODELS"] + "/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={
            "content-type": "application/json",
            "authorization": f"Bearer {VARIABLES['SCRIPTED_KEY']}",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return str(json.load(answer)["choices"][0]["message"]["content"])
    except urllib.error.HTTPError as refused:
        return str(refused.code)


def post(text: str) -> str:
    """Ask the gateway for its tools at a path, and return the status."""
    path, body = text.split()[1], {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "authorization": f"Bearer {VARIABLES['SCRIPTED_KEY']}",
    }
    request = urllib.request.Request(
        VARIABLES["SCRIPTED_MODELS"] + path, data=json.dumps(body).encode(), headers=headers
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return str(answer.status)
    except urllib.error.HTTPError as refused:
        return str(refused.code)


def ask(text: str) -> str:
    """Ask whether it may do something; return what it was told."""
    tell(ask=f"do {text.splitlines()[-1]}", id=1)
    return "allowed" if json.loads(sys.stdin.readline())["allows"] else "refused"


def beg(text: str) -> str:
    """Ask again and again, and read no answer."""
    for number in range(BEGS):
        tell(ask=f"do {text}", id=number)
    time.sleep(LONG_S)  # noqa: TID251  it has no loop
    return text


def look(text: str) -> str:
    """Return the size of each file that was attached, and change it."""
    sizes = []
    for line in text.splitlines():
        if line.startswith("[Attached file: "):
            path = Path(line.removeprefix("[Attached file: ").partition(" (")[0])
            sizes.append(str(path.stat().st_size))
            path.write_text("changed")
    return " ".join(sizes) or "nothing"


def hang(text: str) -> str:
    """Go on until it is ended."""
    if text.startswith("nest"):
        subprocess.Popen(["sleep", str(LONG_S)], start_new_session=True)
    if text.startswith("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(LONG_S)  # noqa: TID251  it has no loop
    return text


def leave(text: str) -> str:
    """End without an answer."""
    if text.startswith("crash"):
        sys.exit("it broke on purpose")
    subprocess.Popen(["sleep", str(LONG_S)])
    sys.exit(0)


def flood(text: str) -> str:
    """Write far more than anybody wants."""
    in_lines = text.startswith("flood")
    for _ in range(FLOOD // len(PIECE)):
        sys.stdout.write(json.dumps({"status": PIECE}) + "\n" if in_lines else PIECE)
    sys.stdout.flush()
    return text


ACTS = {
    "look": look,
    "ask": ask,
    "beg": beg,
    "model": lambda text: call_model(text, VARIABLES["SCRIPTED_MODEL"]),
    "agent": lambda text: call_model(text, text.replace(" ", ":")),
    "picture": lambda text: call_model(text, VARIABLES["SCRIPTED_MODEL"], picture=text.split()[1]),
    "post": post,
    "leak": lambda text: VARIABLES[text.split()[1]],
    **dict.fromkeys(("crash", "fork"), leave),
    **dict.fromkeys(("hang", "deaf", "nest"), hang),
    **dict.fromkeys(("flood", "line"), flood),
}


def main() -> None:
    """Answer one message."""
    asked = json.loads(sys.stdin.readline())
    session = Path("sessions", asked["session"] or f"own-{os.getpid()}-{time.time_ns()}")
    if asked["session"] and not asked["is_new"] and not session.exists():
        tell(gone=True)
        return
    session.parent.mkdir(exist_ok=True)
    text = asked["prompt"]
    with session.open("a") as file:
        file.write(json.dumps(text) + "\n")
    tell(session=session.name)
    tell(text="said: ")
    if text.startswith("quiet"):
        return
    act = ACTS.get((text.split() or [""])[0])
    if text.startswith("[A restart") and text.splitlines()[-1].startswith("ask"):
        act = ask
    tell(text=text if act is None else act(text))
    tell(end=True, model="script-1", usage={"tokens_in": 10, "tokens_out": 2, "cost_usd": 0.01})


if __name__ == "__main__":
    main()
