"""How fast `hermes backup` writes the archive of a home whose gateway answers meanwhile."""

import http.client
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

from bench.gateway import Running, environment, gateway, hermes_command, model_server
from bench.registry import Say

MEDIA_MB = 128
MESSAGES = 400
MESSAGE_BYTES = 50_000
_MB = 1_000_000


def measure_backup(say: Say) -> Iterator[dict[str, float]]:
    """Time a backup as an operator would: the command from its start to its end."""
    with (
        model_server() as model,
        gateway(model) as running,
        tempfile.TemporaryDirectory() as folder,
    ):
        say(f"{MESSAGES} long messages for a backup")
        _fill(running)
        say("a backup")
        command = hermes_command("backup", str(Path(folder) / "backup.tar"), "--json")
        started = monotonic()
        done = subprocess.run(
            command, env=environment(model, running.home), check=True, capture_output=True
        )
        took_s = monotonic() - started
        size_mb = json.loads(done.stdout)["bytes"] / _MB
    yield {"backup_mb_per_s": size_mb / took_s, "backup_mb": size_mb}


def _fill(running: Running) -> None:
    """Put media of random bytes and long messages into a home."""
    media = running.home / "media"
    media.mkdir(mode=0o700, exist_ok=True)
    for number in range(MEDIA_MB):
        (media / f"{number}.bin").write_bytes(os.urandom(_MB))
    headers = {"authorization": f"Bearer {running.token}", "content-type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    for number in range(MESSAGES):
        said = {"sender": f"s{number}", "text": os.urandom(MESSAGE_BYTES // 2).hex()}
        connection.request("POST", "/api/messages", json.dumps(said), headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"a message for the backup was answered {answer.status}")
    connection.close()
