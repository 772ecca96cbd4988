"""`hermes backup` and `hermes restore` on a home in which no gateway runs."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest

pytestmark = pytest.mark.sqlite_only

SAY = ("chat", "--message", "hello")


def contents(home: Path) -> dict[str, bytes]:
    """Return every file of a home but those that come and go with a process."""
    files = (path for path in home.rglob("*") if path.is_file())
    found = {path.relative_to(home).as_posix(): path.read_bytes() for path in files}
    return {name: data for name, data in found.items() if name.split("/")[0] not in ("run", "logs")}


@pytest.fixture
def spoken(home, hermes, model) -> Path:
    """A home in which something was said, with files of every kind."""
    (home / "config.yaml").write_text("time_zone: Europe/Berlin\n")
    (home / ".env").write_text("OPENAI_API_KEY=sk-not-a-real-key\n")
    (home / ".env").chmod(0o600)
    for name in ("hooks/ear/HOOK.yaml", "media/p_ann/m_1/a.png", "delivered/one.md", "notes.txt"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("events: [agent:end]\n")
    (home / "hooks/ear/handler.py").write_text("async def handle(event_type, context): ...\n")
    (home / "media/link").symlink_to("/etc/passwd")
    assert hermes(*SAY, **model).returncode == 0
    return home


@pytest.fixture
def kept(spoken, hermes, tmp_path) -> Path:
    """A backup of it."""
    archive = tmp_path / "backup.tar"
    done = hermes("backup", str(archive))
    assert done.returncode == 0, done.stderr
    return archive


@pytest.mark.req("W1", "J24")
def test_a_backup_has_everything_but_secrets_and_what_is_made_again(spoken, hermes, tmp_path):
    archive = tmp_path / "backup.tar"

    made = json.loads(hermes("backup", str(archive), "--json").stdout)

    with tarfile.open(archive) as read:
        names = [member.name for member in read.getmembers()]
    assert names == [
        "hermes-backup.json",
        "store/hermes.db",
        "home/config.yaml",
        "home/media/p_ann/m_1/a.png",
        "home/hooks/ear/HOOK.yaml",
        "home/hooks/ear/handler.py",
        "home/delivered/one.md",
        "home/chat/conversation",
        "manifest.json",
    ]
    left = {one["name"] for one in made["left_out"]}
    assert left >= {".env", "keys", "logs", "run", "media/link", "notes.txt"}
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    key = (spoken / "keys/store.keys").read_bytes().strip()
    assert key not in archive.read_bytes()
    assert b"sk-not-a-real-key" not in archive.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.req("W1", "J24")
def test_a_configuration_with_a_secret_is_left_out_and_named(spoken, hermes, tmp_path):
    (spoken / "config.yaml").write_text("providers: {openai: {api_key: sk-secret}}\n")
    (spoken / "config.yaml").chmod(0o600)

    done = hermes("backup", str(tmp_path / "backup.tar"))

    assert done.returncode == 0, done.stderr
    assert "config.yaml: it has a secret (providers.openai.api_key)" in done.stdout
    assert b"sk-secret" not in (tmp_path / "backup.tar").read_bytes()


@pytest.mark.req("W1", "J24")
def test_a_configuration_that_repeats_a_secret_of_env_is_left_out(spoken, hermes, tmp_path):
    (spoken / "config.yaml").write_text("time_zone: UTC\n# it was sk-not-a-real-key\n")

    done = hermes("backup", str(tmp_path / "backup.tar"))

    assert "config.yaml: it has a secret (line 2 looks like one)" in done.stdout, done.stderr
    assert b"sk-not-a-real-key" not in (tmp_path / "backup.tar").read_bytes()


@pytest.mark.req("W1", "J24")
def test_a_restored_home_answers_as_the_old_one_did(spoken, kept, hermes, model, tmp_path):
    new = tmp_path / "new"
    key = str(spoken / "keys/store.keys")

    done = hermes("restore", str(kept), "--home", str(new), "--key-file", key)
    before, after = contents(spoken), contents(new)
    said = hermes(*SAY, HERMES_HOME=str(new), **model)
    checked = hermes("graph", "verify", "--home", str(new))

    assert done.returncode == 0, done.stderr
    missing = {name for name in before if name not in after and "__pycache__" not in name}
    assert missing == {".env", "media/link", "notes.txt", "search.db"}
    assert {name for name in after if name not in before} == set()
    assert after["keys/store.keys"] == before["keys/store.keys"]
    assert after["hooks/ear/handler.py"] == before["hooks/ear/handler.py"]
    assert (said.returncode, "#2 hello" in said.stdout) == (0, True)
    assert checked.returncode == 0
    assert stat.S_IMODE((new / "hooks/ear/handler.py").stat().st_mode) == 0o600


@pytest.mark.req("W1", "J24")
def test_without_its_key_an_archive_is_not_restored_unless_that_is_wanted(
    spoken, kept, hermes, tmp_path
):
    new, key = tmp_path / "new", str(spoken / "keys/store.keys")

    refused = hermes("restore", str(kept), "--home", str(new))
    unclear = hermes("restore", str(kept), "--home", str(new), "--key-file", key, "--without-key")

    assert refused.returncode == 1
    assert "signature can only be checked with its key file" in refused.stderr
    assert "--key-file" in refused.stderr
    assert "--without-key" in refused.stderr
    assert (unclear.returncode, "not both" in unclear.stderr) == (2, True)
    assert not new.exists()


@pytest.mark.req("W1")
def test_without_its_key_a_home_is_restored_and_says_which_one_it_needs(
    spoken, kept, hermes, tmp_path
):
    new = tmp_path / "new"

    done = hermes("restore", str(kept), "--home", str(new), "--without-key")
    refused = hermes("users", "list", "--home", str(new))
    shutil.copy(spoken / "keys/store.keys", new / "keys/store.keys")
    started = hermes("users", "list", "--home", str(new))
    left = (new / "restore.unchecked").exists()

    assert (done.returncode, "put the key file with the fingerprint" in done.stdout) == (0, True)
    assert (refused.returncode, "store.keys is missing" in refused.stderr) == (1, True)
    assert (started.returncode, left) == (0, False), started.stderr


@pytest.mark.req("W1", "J24")
def test_a_wrong_key_is_noticed_before_anything_is_written(kept, hermes, tmp_path):
    new, wrong = tmp_path / "new", tmp_path / "wrong.keys"
    wrong.write_bytes(b"A" * 43 + b"=\n")

    done = hermes("restore", str(kept), "--home", str(new), "--key-file", str(wrong))

    assert (done.returncode, "needs the key file with the fingerprint" in done.stderr) == (1, True)
    assert not new.exists()


@pytest.mark.req("W1")
def test_an_archive_that_was_changed_is_refused_with_its_key(spoken, kept, hermes, tmp_path):
    content = kept.read_bytes()
    kept.write_bytes(content.replace(b'"home_id":"', b'"home_id":"f', 1)[: len(content)])
    start = content.rindex(b'"made_at":')
    kept.write_bytes(content[:start] + content[start:].replace(b'"made_at":1', b'"made_at":2', 1))
    new, key = tmp_path / "new", str(spoken / "keys/store.keys")

    done = hermes("restore", str(kept), "--home", str(new), "--key-file", key)

    assert (done.returncode, "signature" in done.stderr) == (1, True), done.stderr
    assert not new.exists()


def changed(kept: Path, path: Path, name: str, content: bytes) -> Path:
    """Return a copy of an archive in which somebody without the key has replaced a file."""
    with tarfile.open(kept) as read, tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as out:
        for member in read.getmembers():
            file = read.extractfile(member)
            assert file is not None
            data = content if member.name == name else file.read()
            if member.name == "manifest.json":
                told = json.loads(data)
                for entry in told["files"]:
                    if entry["name"] == name:
                        entry |= {"size": len(content), "sha256": sha256(content).hexdigest()}
                data = json.dumps(told).encode()
            member.size = len(data)
            out.addfile(member, BytesIO(data))
    return path


@pytest.mark.req("W1")
def test_a_changed_archive_that_was_restored_without_its_key_runs_nothing(
    spoken, kept, hermes, model, tmp_path
):
    new, ran = tmp_path / "new", tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w')\nasync def handle(event_type, context): ...\n".encode()
    bad = changed(kept, tmp_path / "bad.tar", "home/hooks/ear/handler.py", code)

    restored = hermes("restore", str(bad), "--home", str(new), "--without-key")
    before = hermes(*SAY, HERMES_HOME=str(new), **model)
    shutil.copy(spoken / "keys/store.keys", new / "keys/store.keys")
    done = [
        hermes(*SAY, HERMES_HOME=str(new), **model),
        hermes("users", "list", "--home", str(new)),
    ]
    doctor = hermes("doctor", "--home", str(new), HERMES_SERVER__PORT="0")

    assert (restored.returncode, "is not checked yet" in restored.stdout) == (0, True)
    assert (before.returncode, "store.keys is missing" in before.stderr) == (1, True)
    for one in done:
        assert (one.returncode, "was changed after it was made" in one.stderr) == (1, True)
    assert "was changed after it was made" in doctor.stdout
    assert not ran.exists()


@pytest.mark.req("W1", "W4")
def test_a_home_that_is_used_or_not_empty_is_left_alone(spoken, kept, hermes, gateway, tmp_path):
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    (other / "mine.txt").write_text("mine")
    before = contents(spoken)

    used = hermes("restore", str(kept), "--home", str(spoken))
    full = hermes("restore", str(kept), "--home", str(other), "--without-key")

    assert (used.returncode, "already runs" in used.stderr) == (1, True)
    assert (full.returncode, "not empty: it has mine.txt" in full.stderr) == (1, True)
    assert contents(spoken).keys() == before.keys()
    assert contents(other) == {"mine.txt": b"mine"}


@pytest.mark.req("W1")
def test_a_file_that_is_no_backup_is_not_replaced_and_a_backup_is(spoken, kept, hermes, tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    first = kept.stat().st_ino

    refused = hermes("backup", str(mine))
    inside = hermes("backup", str(spoken / "backup.tar"))
    again = hermes("backup", str(kept))

    assert (refused.returncode, mine.read_text()) == (1, "mine")
    assert (inside.returncode, "inside the home" in inside.stderr) == (1, True)
    assert (again.returncode, kept.stat().st_ino != first) == (0, True)


@pytest.mark.req("W1")
def test_a_backup_can_go_through_a_pipe(spoken, kept, hermes, tmp_path):
    piped = tmp_path / "piped.tar"
    environ = {"HERMES_HOME": str(spoken), "PATH": "/usr/bin:/bin"}
    with piped.open("wb") as out:
        command = [sys.executable, "-m", "hermes", "backup", "-"]
        done = subprocess.run(command, env=environ, stdout=out, stderr=subprocess.PIPE, check=False)
    key = str(spoken / "keys/store.keys")

    restored = hermes("restore", str(piped), "--home", str(tmp_path / "new"), "--key-file", key)

    assert (done.returncode, b"standard output" in done.stderr) == (0, True)
    assert restored.returncode == 0, restored.stderr


@pytest.mark.req("W1", "W35")
def test_a_full_output_is_not_blamed_on_the_home(spoken):
    command = [sys.executable, "-m", "hermes", "backup", "-"]
    environ = {"HERMES_HOME": str(spoken), "PATH": "/usr/bin:/bin"}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, env=environ, stdout=full, stderr=subprocess.PIPE, check=False
        )

    said = done.stderr.decode()
    assert (done.returncode, "Standard output takes no more of the backup" in said) == (1, True), (
        said
    )
    assert str(spoken) not in said


@pytest.mark.req("W1", "W35")
def test_a_restore_from_standard_input_is_refused_by_name(hermes, tmp_path):
    done = hermes("restore", "-", "--home", str(tmp_path / "new"))

    said = " ".join(done.stderr.replace("│", " ").split())
    assert (done.returncode, "cannot come from standard input" in said) == (2, True), said


@pytest.mark.req("W1")
def test_a_rotation_that_was_cut_off_has_to_be_finished_first(spoken, hermes, tmp_path):
    key_file = spoken / "keys/store.keys"
    key_file.write_bytes(b"A" * 43 + b"=\n" + key_file.read_bytes())

    done = hermes("backup", str(tmp_path / "backup.tar"))

    assert (done.returncode, "hermes keys rotate-store" in done.stderr) == (1, True)
    assert list(tmp_path.glob("*backup.tar*")) == []


@pytest.mark.req("W1")
def test_a_damaged_database_does_not_replace_a_good_backup(spoken, kept, hermes):
    good = kept.read_bytes()
    with (spoken / "hermes.db").open("r+b") as file:
        file.seek(4096 * 5)
        file.write(os.urandom(4096 * 10))

    done = hermes("backup", str(kept))

    assert (done.returncode, "damaged" in done.stderr) == (1, True)
    assert kept.read_bytes() == good


@pytest.mark.req("W1", "W7")
def test_the_doctor_says_how_old_the_last_backup_is(spoken, hermes, tmp_path):
    def check() -> dict[str, str]:
        done = hermes("doctor", "--json", HERMES_SERVER__PORT="0")
        return next(one for one in json.loads(done.stdout)["checks"] if one["name"] == "backup")

    never = check()
    assert hermes("backup", str(tmp_path / "backup.tar")).returncode == 0
    fresh = check()
    last = json.loads((spoken / "last-backup.json").read_text())
    (spoken / "last-backup.json").write_text(json.dumps({**last, "at": last["at"] - 8 * 86_400}))
    old = check()

    assert (never["status"], "no backup" in never["what"]) == ("warn", True)
    assert (fresh["status"], "0.0 days old" in fresh["what"]) == ("ok", True)
    assert (old["status"], "8.0 days old" in old["what"]) == ("warn", True)
    assert "hermes backup FILE" in old["fix"]


@pytest.mark.req("W1")
def test_a_restore_that_was_killed_refuses_to_start_and_is_done_again(
    spoken, kept, hermes, tmp_path
):
    new, key = tmp_path / "new", str(spoken / "keys/store.keys")
    killed = """
import os, signal, sys
from pathlib import Path
from hermes.app.backup import make_restore
def tell(done, total, note):
    if note == "writing" and (Path(sys.argv[2]) / "media").exists():
        os.kill(os.getpid(), signal.SIGKILL)
make_restore(Path(sys.argv[2]), Path(sys.argv[1]), key_path=None, tell=tell, without_key=True)
"""
    cut = subprocess.run([sys.executable, "-c", killed, str(kept), str(new)], check=False)

    refused = hermes("up", "--home", str(new), HERMES_SERVER__PORT="0")
    listed = hermes("users", "list", "--home", str(new))
    doctor = hermes("doctor", "--home", str(new), HERMES_SERVER__PORT="0")
    again = hermes("restore", str(kept), "--home", str(new), "--key-file", key)
    started = hermes("users", "list", "--home", str(new))

    assert cut.returncode == -9
    for done in (refused, listed):
        assert (done.returncode, "was cut off" in done.stderr) == (1, True), done.stderr
    assert "was cut off" in doctor.stdout
    assert (again.returncode, started.returncode) == (0, 0), again.stderr
    assert not (new / "restore.unfinished").exists()


@pytest.mark.req("W1")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_leaves_no_half_backup_and_no_half_home(spoken, kept, hermes, tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        backup = hermes("backup", str(place / "backup.tar"))
        restore = hermes("restore", str(kept), "--home", str(place / "new"), "--without-key")
        left = [path for path in place.rglob("*") if path.is_file()]
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)

    assert (backup.returncode, "MiB" in backup.stderr) == (1, True)
    assert (restore.returncode, "MiB" in restore.stderr) == (1, True)
    assert [path.name for path in left] == ["gateway.lock"]
