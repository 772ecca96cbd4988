"""The books of a home, read from its files while no gateway runs, opened with its own key."""

from collections import Counter, defaultdict
from collections.abc import Mapping

import msgspec

from hermes.message.chat import ChatMessage
from hermes.ports.approvals import DENIED_APPROVAL
from hermes.ports.memory import Fact
from hermes.ports.spend import PLATFORM
from hermes.testing.push.tally import read_tally
from tests.stores.engine import OpenedTables
from tests.stores.opening import opened_tables
from tests.torture.homes import Home

_decode = msgspec.json.Decoder(ChatMessage).decode


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the inbox with what it answered."""

    seq: int
    id: str
    external_id: str
    platform: str
    lane: str
    person_id: str
    control: bool
    state: str
    outcome: str | None
    attempts: int
    epoch: int
    merged_into: str | None
    reply: str | None


class StepRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the steps."""

    ordinal: int
    kind: str
    state: str
    name: str
    payer: str


class EntryRow(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a session's graph, and the turn that put it there."""

    lane: str
    epoch: int
    position: int
    message_id: str
    message: ChatMessage
    is_sampled: bool


class DeliveryRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the outbox, opened; it is known on its platform by the ids of its messages."""

    seq: int
    id: str
    message_id: str
    platform: str
    chat: str
    state: str
    held: bool
    purpose: str
    text: str
    known_as: tuple[str | None, ...] = ()
    # The number of the message that would be sent next, of a reply that its person stopped.
    stopped_at: int | None = None


class Denial(msgspec.Struct, frozen=True):
    """An approval that a message denied: whose turn waited, in which step, for which tool."""

    message_id: str
    ordinal: int
    tool: str
    by: str


class Lane(msgspec.Struct, frozen=True):
    """A row of the lanes."""

    key: str
    owner: str | None
    fence: int
    head: int


class Books:
    """Everything the journal says, as plain values."""

    def __init__(self, home: Home, *, names: Mapping[str, str] | None = None) -> None:
        """Read them; `names` are the words of messages that platforms call something else."""
        self.home = home
        self._names = names or {}
        key_file = (home.folder / "keys" / "store.keys").read_bytes()
        with opened_tables(home.folder, key_file=key_file) as opened:
            self._read(opened)
        self.runs = read_tally(home.tool_counts)

    def _read(self, opened: OpenedTables) -> None:
        self._opened = opened
        self._db = db = opened.tables
        self.problems = opened.problems()
        self.messages = self._read_messages()
        self.steps = self._read_steps()
        self.entries = self._read_entries()
        self.deliveries = self._read_deliveries()
        self.lanes = [Lane(*row) for row in db.rows("SELECT key, owner, fence, head FROM lanes")]
        self.holds = db.rows("SELECT message_id, amount FROM holds")
        self.ledger = db.rows("SELECT person_id, kind, amount, message_id FROM ledger")
        self.balances = {
            str(r[0]): int(r[1]) for r in db.rows("SELECT person_id, balance FROM wallets")
        }
        self.denials = [
            Denial(*row)
            for row in db.rows(
                "SELECT message_id, ordinal, tool, decided_by FROM approvals"
                " JOIN inbox ON inbox.id = decided_by AND control = 0 WHERE approvals.state = 'denied'"
            )
        ]
        self.allowed = Counter(
            str(row[0])
            for row in db.rows("SELECT message_id FROM approvals WHERE state = 'approved'")
        )
        self.deniers = [
            str(row[0])
            for row in db.rows("SELECT message_id FROM events WHERE kind = ?1", (DENIED_APPROVAL,))
        ]
        self.interactions = [str(r[0]) for r in db.rows("SELECT message_id FROM interactions")]
        self.used = db.rows(
            "SELECT person_id, sum(tokens_in + tokens_out) FROM interactions"
            " WHERE tokens_in + tokens_out > 0 GROUP BY 1"
        )
        self.used_in_vain = int(
            db.one("SELECT coalesce(sum(platform_tokens), 0) FROM interactions")
        )
        self.spent = db.rows(
            "SELECT person_id, sum(tokens_in + tokens_out) FROM spend"
            " WHERE channel <> 'extract' GROUP BY 1"
        )
        self.lessons = int(
            db.one("SELECT coalesce(sum(calls), 0) FROM spend WHERE channel = 'extract'")
        )
        self.learning_people = db.rows(
            "SELECT DISTINCT person_id FROM spend WHERE channel = 'extract' AND person_id <> ?1",
            (PLATFORM,),
        )
        self.facts = self._read_facts()
        self.job_failures = [
            str(row[0])
            for row in db.rows(
                "SELECT coalesce(failure, 'no end') FROM jobs"
                " WHERE due_at IS NOT NULL OR failure IS NOT NULL"
            )
        ]
        self.endings = [
            str(row[0]) for row in db.rows("SELECT message_id FROM events WHERE kind = 'ended'")
        ]

    def message(self, message_id: str) -> Message | None:
        """Return one message."""
        return self._by_id.get(message_id)

    def _read_messages(self) -> list[Message]:
        rows = self._db.rows(
            "SELECT seq, id, external_id, platform, lane, person_id, control, state, outcome,"
            " attempts, epoch,"
            " merged_into, reply_body FROM inbox ORDER BY seq"
        )
        messages = [
            msgspec.convert(
                {
                    **dict(zip(Message.__struct_fields__, (*row[:-1], None), strict=True)),
                    "external_id": self._names.get(row[2], row[2]),
                    "reply": self._text(row[-1]),
                },
                Message,
                strict=False,
            )
            for row in rows
        ]
        self._by_id = {message.id: message for message in messages}
        return messages

    def _read_steps(self) -> dict[str, list[StepRow]]:
        steps: dict[str, list[StepRow]] = defaultdict(list)
        for row in self._db.rows(
            "SELECT message_id, ordinal, kind, state, name, payer FROM steps ORDER BY 1, 2"
        ):
            steps[row[0]].append(
                StepRow(ordinal=row[1], kind=row[2], state=row[3], name=row[4], payer=row[5])
            )
        return steps

    def _read_entries(self) -> list[EntryRow]:
        """Return what the graphs hold, turn by turn; their calls and what is wrong with them beside."""
        reader = self._opened.graphs
        self.calls: list[str] = []
        self.graph_problems: list[str] = []
        entries: list[EntryRow] = []
        for known in sorted(reader.graphs(), key=lambda one: (one.session, one.epoch)):
            graph = reader.open(known.name)
            self.graph_problems += [f"{known.name}: {one}" for one in graph.verify().problems]
            self.calls += [call.id for call in graph.calls()]
            messages = graph.to_list()
            for version in graph.versions():
                edit = version.edit
                entries += [
                    EntryRow(
                        lane=known.session,
                        epoch=known.epoch,
                        position=position,
                        message_id=edit.reason,
                        message=msgspec.convert(messages[position], ChatMessage),
                        is_sampled=graph.is_sampled(position),
                    )
                    for position in range(edit.start, edit.start + edit.added)
                ]
        return entries

    def _read_deliveries(self) -> list[DeliveryRow]:
        rows = self._db.rows(
            "SELECT seq, id, message_id, platform, chat_id, state, held, purpose, body,"
            " platform_message_id, CASE WHEN stopped_by IS NOT NULL THEN chunk END"
            " FROM outbox ORDER BY seq"
        )
        more: dict[str, list[str | None]] = defaultdict(list)
        for delivery, shown_as in self._db.rows(
            "SELECT delivery, platform_message_id FROM outbox_more ORDER BY delivery, number"
        ):
            more[delivery].append(shown_as)
        return [
            DeliveryRow(
                seq=row[0],
                id=row[1],
                message_id=row[2],
                platform=row[3],
                chat=row[4],
                state=row[5],
                held=bool(row[6]),
                purpose=row[7],
                text=self._text(row[8]) or "",
                known_as=(row[9], *more[row[1]]),
                stopped_at=row[10],
            )
            for row in rows
        ]

    def _read_facts(self) -> list[Fact]:
        rows = self._db.rows("SELECT id, person_id, sealed FROM facts")
        opened = [
            self._opened.unseal(person, sealed, place=("fact", name))
            for name, person, sealed in rows
        ]
        assert None not in opened, "a fact cannot be opened"
        return [msgspec.json.decode(content or b"", type=Fact) for content in opened]

    def _text(self, body: int | None) -> str | None:
        return None if body is None else _decode(self._content(body)).text

    def _content(self, body: int) -> bytes:
        content = self._opened.body(body)
        assert content is not None, f"body {body} is gone"
        return content
