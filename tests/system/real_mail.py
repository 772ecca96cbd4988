"""Real mail servers for the tests: Postfix and Dovecot, on loopback, out of a folder of their own."""

import asyncio
import os
import pwd
import shutil
import smtplib
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import SMTP, default
from imaplib import IMAP4
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hermes.ports.clock import SystemClock

PROGRAMS = ("/usr/sbin/postfix", "/usr/sbin/dovecot", "/usr/lib/dovecot/lmtp")
HERMES, ADA, EVE = "hermes@hermes.test", "ada@people.test", "eve@evil.test"
PASSWORD = "not-a-real-password"
AUTHSERV_ID = "mx.hermes.test"
START_S = 30.0
WAIT_S = 30.0

_MAIN = """
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/postfix.log
maillog_file_prefixes = {folder}
mail_owner = postfix
setgid_group = postdrop
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mx.hermes.test
mydomain = hermes.test
mydestination =
alias_maps =
local_recipient_maps =
mynetworks = 127.0.0.0/8
virtual_mailbox_domains = hermes.test, people.test, evil.test
virtual_mailbox_maps = inline:{{ {{ hermes@hermes.test = ok }} {{ ada@people.test = ok }} {{ eve@evil.test = ok }} }}
virtual_transport = lmtp:inet:127.0.0.1:{lmtp}
default_transport = error:no other place is known here
smtpd_recipient_restrictions = permit_sasl_authenticated, reject_unauth_destination
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:127.0.0.1:{auth}
smtpd_sender_login_maps = inline:{{ {{ hermes@hermes.test = hermes@hermes.test }} }}
smtpd_tls_security_level = may
smtpd_tls_auth_only = yes
smtpd_tls_chain_files = {folder}/key.pem, {folder}/cert.pem
smtpd_peername_lookup = no
header_checks = regexp:{folder}/etc/vouch
message_size_limit = 30000000
minimal_backoff_time = 1s
queue_run_delay = 1s
"""
# What a server with a checking filter would find: mail of people.test is theirs, any other is not.
_VOUCH = f"""/^From:.*@people\\.test>?$/ PREPEND Authentication-Results: {AUTHSERV_ID}; spf=pass smtp.mailfrom=people.test
/^From:.*/ PREPEND Authentication-Results: {AUTHSERV_ID}; spf=fail
"""
_MASTER = """
127.0.0.1:{smtp} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
"""
_DOVECOT = """
protocols = imap lmtp
listen = 127.0.0.1
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/dovecot.log
ssl = yes
ssl_cert = <{folder}/cert.pem
ssl_key = <{folder}/key.pem
disable_plaintext_auth = no
mail_location = maildir:{folder}/mail/%u
mail_uid = nobody
mail_gid = nogroup
first_valid_uid = 1
passdb {{
  driver = passwd-file
  args = scheme=PLAIN username_format=%u {folder}/users
}}
userdb {{
  driver = static
  args = uid=nobody gid=nogroup home={folder}/mail/%u
}}
namespace inbox {{
  inbox = yes
  mailbox Sent {{
    auto = create
  }}
  mailbox Done {{
    auto = create
  }}
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = {imaps}
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    port = {lmtp}
  }}
}}
service auth {{
  inet_listener sasl {{
    port = {auth}
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
protocol lmtp {{
  postmaster_address = postmaster@hermes.test
}}
"""


def missing() -> str | None:
    """Return why the servers cannot be run here."""
    lacking = [Path(name).name for name in PROGRAMS if not Path(name).exists()]
    if lacking:
        return f"{' and '.join(lacking)} not installed: run tools/install_test_parts.sh"
    return None if os.geteuid() == 0 else "mail servers start as root only"


class MailServers:
    """Postfix for what is sent, Dovecot for what is read; their ports stay the same over restarts."""

    def __init__(self) -> None:
        # Not in the test's own folder: the servers' users must be able to get there.
        self.folder = Path(tempfile.mkdtemp(prefix="hermes-mail-"))
        self.folder.chmod(0o755)
        self.ports = {name: _free_port() for name in ("smtp", "imap", "imaps", "lmtp", "auth")}
        self._running: list[subprocess.Popen[bytes]] = []
        self._write()

    @property
    def ca_file(self) -> Path:
        """The certificate that both show."""
        return self.folder / "cert.pem"

    def _write(self) -> None:
        folder = self.folder
        for name in ("etc", "queue", "data", "mail", "run", "state"):
            (folder / name).mkdir()
        shutil.chown(folder / "data", "postfix")
        nobody = pwd.getpwnam("nobody")
        os.chown(folder / "mail", nobody.pw_uid, nobody.pw_gid)
        names = {"folder": folder, **self.ports}
        (folder / "etc" / "main.cf").write_text(_MAIN.format(**names))
        (folder / "etc" / "master.cf").write_text(_MASTER.format(**names))
        (folder / "etc" / "vouch").write_text(_VOUCH)
        (folder / "dovecot.conf").write_text(_DOVECOT.format(**names))
        users = "".join(f"{one}:{{PLAIN}}{PASSWORD}\n" for one in (HERMES, ADA, EVE))
        (folder / "users").write_text(users)
        _certificate(folder)

    async def start(self) -> None:
        """Start both, and wait until they answer."""
        etc = self.folder / "etc"
        self._run("dovecot", "-F", "-c", self.folder / "dovecot.conf")
        self._run("postfix", "-c", etc, "start-fg")
        async with asyncio.timeout(START_S):
            for name in ("smtp", "imap", "imaps", "lmtp", "auth"):
                while not _listens(self.ports[name]):
                    assert all(one.poll() is None for one in self._running), self.logs()
                    await asyncio.sleep(0.05)

    def stop(self) -> None:
        """End both, as an operator does; Postfix's master is in a session of its own."""
        if self._running:
            etc = self.folder / "etc"
            with (self.folder / "out").open("ab") as out:
                subprocess.run(
                    ["/usr/sbin/postfix", "-c", etc, "stop"], stdout=out, stderr=out, check=False
                )
        for process in self._running:
            process.terminate()
            process.wait(START_S)
        self._running.clear()

    def remove(self) -> None:
        """Leave nothing."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def logs(self) -> str:
        """Return what the servers had to say."""
        names = ("out", "postfix.log", "dovecot.log")
        files = [self.folder / name for name in names]
        return "\n".join(file.read_text()[-1500:] for file in files if file.exists())

    def _run(self, program: str, *options: str | Path) -> None:
        with (self.folder / "out").open("ab") as out:
            process = subprocess.Popen(
                [f"/usr/sbin/{program}", *options],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
        self._running.append(process)

    def send(self, message: EmailMessage, *, sender: str = ADA) -> None:
        """Let somebody send a mail, as another server would."""
        with smtplib.SMTP("127.0.0.1", self.ports["smtp"], timeout=WAIT_S) as smtp:
            smtp.send_message(message, from_addr=sender, to_addrs=[HERMES])

    def mails(self, address: str, folder: str = "INBOX") -> list[EmailMessage]:
        """Return what lies in a folder of somebody's mailbox, oldest first."""
        with self._signed_in(address) as imap:
            imap.select(folder, readonly=True)
            numbers = imap.search(None, "ALL")[1][0].split()
            raws = [imap.fetch(number.decode(), "(BODY.PEEK[])")[1][0] for number in numbers]
        parser = BytesParser(policy=default)
        return [parser.parsebytes(raw[1]) for raw in raws if isinstance(raw, tuple)]

    def unread(self, address: str) -> list[bytes]:
        """Return the numbers of what nobody has read in somebody's mailbox."""
        with self._signed_in(address) as imap:
            imap.select("INBOX", readonly=True)
            return list(imap.search(None, "UNSEEN")[1][0].split())

    def empty(self) -> None:
        """Take every mail out of every mailbox."""
        for address in (HERMES, ADA, EVE):
            with self._signed_in(address) as imap:
                for folder in ("INBOX", "Sent", "Done"):
                    imap.select(folder)
                    imap.uid("STORE", "1:*", "+FLAGS", r"(\Deleted)")
                    imap.expunge()

    @contextmanager
    def _signed_in(self, address: str) -> Iterator[IMAP4]:
        with IMAP4("127.0.0.1", self.ports["imap"], timeout=WAIT_S) as imap:
            imap.login(address, PASSWORD)
            yield imap

    async def until(self, address: str, *texts: str, folder: str = "INBOX") -> list[EmailMessage]:
        """Wait until exactly these mails lie there, in whatever order they came; returns them so."""
        seen: list[str] = []
        found: list[EmailMessage] = []
        try:
            async with asyncio.timeout(WAIT_S):
                while sorted(seen) != sorted(texts):
                    found = await asyncio.to_thread(self.mails, address, folder)
                    seen = [text_of(one) for one in found]
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"expected {texts}, found {seen}; {self.logs()}") from None
        return sorted(found, key=lambda one: texts.index(text_of(one)))


def letter(text: str, *, subject: str = "A question", sender: str = f"Ada <{ADA}>") -> EmailMessage:
    """Return a mail to Hermes."""
    message = EmailMessage(policy=SMTP)
    message["From"] = sender
    message["To"] = HERMES
    message["Subject"] = subject
    message.set_content(text)
    return message


def text_of(message: EmailMessage) -> str:
    """Return what a person reads of a mail."""
    body = message.get_body(("plain",))
    return "" if body is None else str(body.get_content()).strip()


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def _listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mx.hermes.test")])
    now = datetime.fromtimestamp(SystemClock().now(), UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=10))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    coded = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "key.pem").write_bytes(coded)
    (folder / "key.pem").chmod(0o600)
