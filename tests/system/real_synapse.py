"""A real Synapse for the tests: where `make test` puts it, how it is started, and people on it."""

import asyncio
import hashlib
import hmac
import socket
import subprocess
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp

PARTS = Path(__file__).resolve().parents[2] / "build" / "test-parts"
PYTHON = PARTS / "synapse" / "bin" / "python"
SERVER = "hermes.test"
START_S = 90.0
WAIT_S = 60.0
_SECRET = "not-a-real-registration-secret"
_OFTEN = "{per_second: 100000, burst_count: 100000}"
_CONFIG = """
server_name: {server}
pid_file: {folder}/pid
listeners:
  - {{port: {port}, type: http, bind_addresses: [127.0.0.1], resources: [{{names: [client, federation]}}]}}
database: {{name: sqlite3, args: {{database: {folder}/synapse.db}}}}
log_config: {folder}/log.yaml
media_store_path: {folder}/media
signing_key_path: {folder}/signing.key
registration_shared_secret: {secret}
macaroon_secret_key: not-a-real-secret
form_secret: not-a-real-secret
trusted_key_servers: []
report_stats: false
bcrypt_rounds: 4
presence: {{enabled: false}}
rc_message: {often}
rc_registration: {often}
rc_login: {{address: {often}, account: {often}, failed_attempts: {often}}}
rc_joins: {{local: {often}, remote: {often}}}
rc_invites: {{per_room: {often}, per_user: {often}, per_issuer: {often}}}
rc_room_creation: {often}
"""
_LOG = "{version: 1, root: {level: WARNING, handlers: [file]}, handlers: {file: {class: logging.FileHandler, filename: %s}}}"


class Synapse:
    """One homeserver on a loopback port that stays the same over restarts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = count(1)
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{held.getsockname()[1]}"
        self._process: subprocess.Popen[bytes] | None = None
        config = _CONFIG.format(
            server=SERVER,
            folder=folder,
            port=self.url.rpartition(":")[2],
            secret=_SECRET,
            often=_OFTEN,
        )
        (folder / "hs.yaml").write_text(config)
        (folder / "log.yaml").write_text(_LOG % (folder / "synapse.log"))
        self._run("--generate-keys").wait(START_S)

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = self._run()
        async with asyncio.timeout(START_S), aiohttp.ClientSession() as session:
            while not await _answers(session, f"{self.url}/_matrix/client/versions"):
                assert self._process.poll() is None, (self._folder / "out").read_text()[-3000:]
                await asyncio.sleep(0.1)

    def stop(self) -> None:
        """End it, as an operator does."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(START_S)
            self._process = None

    def _run(self, *options: str) -> subprocess.Popen[bytes]:
        with (self._folder / "out").open("ab") as out:
            return subprocess.Popen(
                [PYTHON, "-m", "synapse.app.homeserver", "-c", self._folder / "hs.yaml", *options],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self._folder,
            )  # fmt: skip

    async def register(self, session: aiohttp.ClientSession, name: str) -> "Person":
        """Make an account that nobody had, by the shared secret, and sign it in."""
        user = f"{name}{next(self._names)}"
        path = f"{self.url}/_synapse/admin/v1/register"
        async with session.get(path) as answer:
            nonce = (await answer.json())["nonce"]
        told = f"{nonce}\0{user}\0pass\0notadmin".encode()
        body = {
            "nonce": nonce,
            "username": user,
            "displayname": name.capitalize(),
            "password": "pass",
            "admin": False,
            "mac": hmac.new(_SECRET.encode(), told, hashlib.sha1).hexdigest(),
        }
        async with session.post(path, json=body) as answer:
            made = await answer.json()
        return Person(session, self.url, made["access_token"], made["user_id"])


class Person:
    """Somebody with a client."""

    def __init__(self, session: aiohttp.ClientSession, url: str, token: str, user_id: str) -> None:
        self._session = session
        self._url = url
        self._numbers = count(1)
        self.token = token
        self.user_id = user_id

    async def call(self, method: str, path: str, body: Any = None, **query: str) -> dict[str, Any]:
        """Call the client API; fails unless it succeeds."""
        async with self._session.request(
            method,
            f"{self._url}/_matrix/client/v3/{path}",
            json=body,
            params=query,
            headers={"Authorization": f"Bearer {self.token}"},
        ) as answer:
            found: dict[str, Any] = await answer.json()
            assert answer.status == 200, found
            return found

    async def open_room(self, *others: str, is_direct: bool = False) -> str:
        """Make a room and ask others into it."""
        body = {
            "invite": list(others),
            "is_direct": is_direct,
            "preset": "trusted_private_chat" if is_direct else "private_chat",
        }
        if not is_direct:
            body["name"] = "The den"
        return str((await self.call("POST", "createRoom", body))["room_id"])

    async def join(self, room: str) -> None:
        await self.call("POST", f"join/{quote(room)}", {})

    async def say(self, room: str, text: str, **more: Any) -> str:
        """Write a message; returns its id."""
        return await self.put(room, {"msgtype": "m.text", "body": text, **more})

    async def put(self, room: str, content: Mapping[str, Any], kind: str = "m.room.message") -> str:
        path = f"rooms/{quote(room)}/send/{kind}/t{next(self._numbers)}"
        return str((await self.call("PUT", path, dict(content)))["event_id"])

    async def upload(self, data: bytes, mime: str) -> str:
        async with self._session.post(
            f"{self._url}/_matrix/media/v3/upload",
            data=data,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": mime},
        ) as answer:
            return str((await answer.json())["content_uri"])

    async def download(self, uri: str) -> bytes:
        path = f"{self._url}/_matrix/client/v1/media/download/{uri.removeprefix('mxc://')}"
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self._session.get(path, headers=headers) as answer:
            return await answer.read()

    async def events(self, room: str) -> list[dict[str, Any]]:
        """Return all events of a room, oldest first."""
        found = await self.call("GET", f"rooms/{quote(room)}/messages", dir="b", limit="500")
        chunk: list[dict[str, Any]] = found["chunk"]
        return chunk[::-1]

    async def heard(self, room: str, of: str) -> "Heard":
        """Return what somebody has written in a room."""
        return Heard(
            [
                event
                for event in await self.events(room)
                if event["type"] == "m.room.message" and event["sender"] == of
            ]
        )

    async def until(self, room: str, of: str, *texts: str) -> "Heard":
        """Wait until somebody has written exactly these texts in a room."""
        return await self._until(room, of, lambda heard: heard.texts == list(texts), texts)

    async def until_last(self, room: str, of: str, *, ends: str) -> "Heard":
        """Wait until the last text that somebody has written in a room ends like this."""
        return await self._until(
            room, of, lambda heard: bool(heard.texts) and heard.texts[-1].endswith(ends), ends
        )

    async def _until(
        self, room: str, of: str, claim: Callable[["Heard"], bool], wanted: object
    ) -> "Heard":
        heard = Heard([])
        try:
            async with asyncio.timeout(WAIT_S):
                while not claim(heard):
                    heard = await self.heard(room, of)
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"expected {wanted}, found {heard.texts}") from None
        return heard


class Heard:
    """Messages as people see them: each once, in its last version."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.edits = [event for event in events if _relation(event).get("rel_type") == "m.replace"]
        self.messages = [event for event in events if event not in self.edits]

    @property
    def texts(self) -> list[str]:
        last = {
            _relation(edit)["event_id"]: edit["content"]["m.new_content"]["body"]
            for edit in self.edits
        }
        return [
            last.get(event["event_id"], event["content"].get("body")) for event in self.messages
        ]

    @property
    def relations(self) -> list[dict[str, Any]]:
        return [_relation(event) for event in self.messages]


def _relation(event: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = event["content"].get("m.relates_to", {})
    return found


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, OSError):
        return False
