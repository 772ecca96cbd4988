"""Whether the books balance: what was promised, what the journal says and what really happened.

Each check yields a sentence for every line that does not fit; no sentence means balance.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest

from hermes.message.chat import ChatMessage, is_unanswered
from hermes.message.parts import ImagePart, ToolResultPart, tool_calls_of
from hermes.outbox.marks import REPEAT_PREFIX
from hermes.ports.spend import PLATFORM
from hermes.testing.push.state import PostedMessage
from tests.torture.books import Books, DeliveryRow, Message
from tests.torture.denial_checks import denials
from tests.torture.driver import Driver
from tests.torture.homes import Mode
from tests.torture.memory_checks import learning
from tests.torture.places import Place
from tests.torture.post_match import attribute
from tests.torture.tool_cap import ROUNDS, ended_at_cap, rounds_of
from tests.torture.wallet_checks import money, poverty

OUTCOMES = frozenset({"answered", "failed", "interrupted", "merged", "expired", "refused"})
# A message that got no answer is shown to the next turn if it is no longer than this.
_SHORT = 2_000
_WORD = re.compile(r"[\w-]+-m\d+(?= )")


class BooksDoNotBalance(AssertionError):
    """Promises, journal and reality do not fit together."""


def check_books(
    books: Books,
    driver: Driver,
    *,
    calls: Counter[str],
    posted: tuple[PostedMessage, ...],
    place: Place,
) -> None:
    """Raise `BooksDoNotBalance` with everything that does not fit."""
    if books.home.mode.place:
        posted = attribute(books, posted, place=place)
    found = [
        *driver.findings,
        *storage(books),
        *promises(books, driver),
        *outcomes(books),
        *money(books, posted),
        *poverty(books),
        *spending(books),
        *learning(books),
        *denials(books, driver),
        *transcripts(books, driver),
        *graphs(books),
        *model_steps(books, calls),
        *tool_steps(books),
        *deliveries(books, posted, place=place),
    ]
    if found:
        raise BooksDoNotBalance("\n".join(found))


def storage(books: Books) -> Iterator[str]:
    """The file is whole."""
    if books.problems:
        yield f"the engine's own check: {books.problems}"


def promises(books: Books, driver: Driver) -> Iterator[str]:
    """Everything that was answered with 2xx is there, once, and was answered alike every time."""
    for name, promise in driver.promises.items():
        rows = [m for m in books.messages if m.external_id == name]
        if promise.external_id is None and [row.id for row in rows] != [promise.message_id]:
            yield f"{name} was accepted as {promise.message_id}, the inbox has {rows}"
            continue
        if len(rows) != 1:
            yield f"{name} was taken as {promise.external_id}, the inbox has {rows}"
            continue
        for outcome, reply in promise.replies:
            row = rows[0]
            host = books.message(row.merged_into) if row.merged_into else row
            kept = host.reply if host is not None else None
            if (outcome, reply) != (row.outcome, kept or ""):
                yield f"{name} was told {outcome} {reply!r}, kept is {row.outcome} {kept!r}"
    strangers = {m.external_id for m in books.messages} - set(driver.promises)
    if strangers:
        yield f"messages that nobody was promised: {strangers}"


def outcomes(books: Books) -> Iterator[str]:
    """Every message has exactly one outcome, and its lane belongs to nobody."""
    endings = Counter(books.endings)
    for message in books.messages:
        if message.state != "done" or message.outcome not in OUTCOMES:
            yield f"{message.external_id} is {message.state} with outcome {message.outcome}"
        if endings[message.id] != (message.outcome != "merged"):
            yield f"{message.external_id} ended {endings[message.id]} times"
        host = books.message(message.merged_into) if message.merged_into else None
        if (message.outcome == "merged") != (host is not None):
            yield f"{message.external_id} is {message.outcome} and part of {message.merged_into}"
    told = Counter(books.interactions)
    for message in books.messages:
        expected = 0 if message.control or message.outcome == "merged" else 1
        if told[message.id] != expected:
            yield f"{message.external_id} has {told[message.id]} interaction rows, not {expected}"
    for lane in books.lanes:
        if lane.owner is not None and all(m.state == "done" for m in books.messages):
            yield f"lane {lane.key} is still held by {lane.owner}"


def spending(books: Books) -> Iterator[str]:
    """The ledger of model calls holds what the turns used, and what crashes lost, once each."""
    used = {str(person): int(tokens) for person, tokens in books.used}
    if books.used_in_vain:
        used[PLATFORM] = books.used_in_vain
    spent = {str(person): int(tokens) for person, tokens in books.spent}
    if used != spent:
        yield f"the turns used {used} tokens, the ledger has {spent}"


def transcripts(books: Books, driver: Driver) -> Iterator[str]:
    """Every lane's transcript is gapless, in the order of acceptance, and fits the outcomes."""
    seq = {message.id: message.seq for message in books.messages}
    blocks: set[str] = set()
    heads = {lane.key: lane.head for lane in books.lanes}
    capped = ended_at_cap(books)
    for lane, group in groupby(books.entries, key=lambda entry: entry.lane):
        entries = list(group)
        if len(entries) != heads[lane]:
            yield f"{lane}: {len(entries)} messages, head {heads[lane]}"
        order = [message_id for message_id, _ in groupby(entries, key=lambda e: e.message_id)]
        if order != sorted(set(order), key=lambda name: seq[name]):
            yield f"{lane}: turns out of order: {order}"
        blocks.update(order)
        said: dict[int, list[ChatMessage]] = {}
        for message_id, part in groupby(entries, key=lambda e: e.message_id):
            block = [entry.message for entry in part]
            message = books.message(message_id)
            assert message is not None
            epoch = next(e.epoch for e in entries if e.message_id == message_id)
            before = said.setdefault(epoch, [])
            users = users_shown(before) + sum(m.role == "user" for m in block)
            yield from _block(message, block, users=users, is_capped=message_id in capped)
            before += block
    for message in books.messages:
        must = message.outcome in {"answered", "interrupted"} and not message.control
        if must and message.id not in blocks:
            yield f"{message.external_id} is {message.outcome} and not in the transcript"
    yield from _said_once(books)
    by_word = {message.external_id: message.seq for message in books.messages}
    for chat, accepted in driver.order.items():
        found = [by_word[name] for name in accepted if name in by_word]
        if found != sorted(found):
            yield f"{chat}: accepted in another order than promised: {found}"


def graphs(books: Books) -> Iterator[str]:
    """Every graph is whole, and holds each call of a turn that said something, once."""
    yield from books.graph_problems
    said = {entry.message_id for entry in books.entries}
    wanted = [
        f"{message_id}.{step.ordinal}"
        for message_id in said
        for step in books.steps.get(message_id, [])
        if (step.kind, step.state) == ("model", "done")
    ]
    if sorted(wanted) != sorted(books.calls):
        yield f"the graphs hold the calls {sorted(books.calls)}, the steps tell of {sorted(wanted)}"
    # Pictures are shown as the model takes them, which is not what the graph holds.
    seen = {
        (entry.lane, entry.epoch)
        for entry in books.entries
        if any(isinstance(part, ImagePart) for part in entry.message.parts)
    }
    for entry in books.entries:
        message = books.message(entry.message_id)
        is_answer = entry.message.role == "assistant"
        is_whole = message is not None and message.outcome == "answered"
        if entry.is_sampled and not is_answer:
            yield f"{entry.message_id}: a message of {entry.message.role} counts as sampled"
        is_exact = (entry.lane, entry.epoch) not in seen
        if is_answer and is_whole and is_exact and not entry.is_sampled:
            yield f"{entry.message_id}: an answer of the model does not count as sampled"


def _said_once(books: Books) -> Iterator[str]:
    """What a person said stands in the transcripts at most once, merged or not."""
    said = Counter(
        word
        for entry in books.entries
        if entry.message.role == "user"
        for word in _WORD.findall(entry.message.text)
    )
    for message in books.messages:
        is_merged = message.outcome == "merged"
        if said[message.external_id] > 1 or (is_merged and not said[message.external_id]):
            yield f"{message.external_id} stands {said[message.external_id]} times in transcripts"


def users_shown(said: list[ChatMessage]) -> int:
    """Return how many messages of people the next turn shows its model.

    One that got no answer is not shown, unless it is the last and short, or a later retry answered
    it.
    """
    return sum(
        one.role == "user" and _is_shown(one, after) for one, after in zip_longest(said, said[1:])
    )


def _is_shown(message: ChatMessage, after: ChatMessage | None) -> bool:
    if not is_unanswered(message):
        return True
    return len(message.text) <= _SHORT if after is None else after.role != "user"


def _block(message: Message, block: list, *, users: int, is_capped: bool) -> Iterator[str]:
    word = message.external_id
    if block[0].role != "user" or block[0].text.partition(" ")[0] != word:
        yield f"{word}: its transcript begins with {block[0]}"
    results = [p.call_id for m in block for p in m.parts if isinstance(p, ToolResultPart)]
    calls = [call.id for m in block for call in tool_calls_of(m.parts)]
    if sorted(results) != sorted(set(calls) & set(results)) or len(set(results)) != len(results):
        yield f"{word}: tool calls {calls} have the results {results}"
    if rounds_of(block) > ROUNDS:
        yield f"{word}: the model asked for tools {rounds_of(block)} times, the cap is {ROUNDS}"
    if message.outcome != "answered":
        return
    if calls != results:
        yield f"{word}: answered with calls {calls} and results {results}"
    if is_capped:
        return
    if block[-1].role != "assistant" or block[-1].text != message.reply:
        yield f"{word}: answered {message.reply!r}, the transcript ends with {block[-1]}"
    if not (message.reply or "").startswith(f"#{users} "):
        yield f"{word}: answered {message.reply!r} after {users} user messages"


def model_steps(books: Books, calls: Counter[str]) -> Iterator[str]:
    """The model was really called once for every step that ended, at most once for the others."""
    for message in books.messages:
        for step in books.steps.get(message.id, []):
            if step.state == "started":
                yield f"{message.external_id}: {step} never ended"
    for group in _steered_together(books):
        words = [message.external_id for message in group]
        states = Counter(
            step.state
            for message in group
            for step in books.steps.get(message.id, [])
            if step.kind == "model"
        )
        real = sum(calls[word] for word in words)
        if not states["done"] <= real <= states.total():
            yield f"{words}: model steps {dict(states)}, real calls {real}"
    unknown = set(calls) - {message.external_id for message in books.messages}
    if unknown:
        yield f"the model was called for messages that nobody sent: {unknown}"


def _steered_together(books: Books) -> Iterable[list[Message]]:
    """Return the messages in groups: the model may be asked by the words of one that joined."""
    groups = {message.id: [message] for message in books.messages}
    for host in books.messages:
        for step in books.steps.get(host.id, []):
            if step.kind not in ("steer", "burst"):
                continue
            for name in step.name.split(","):
                ours, theirs = groups[host.id], groups[name]
                if ours is not theirs:
                    ours.extend(theirs)
                    groups.update((message.id, ours) for message in theirs)
    return {id(group): group for group in groups.values()}.values()


def tool_steps(books: Books) -> Iterator[str]:
    """A tool really ran once for every finished step; one that may not be repeated never was."""
    real = Counter((str(run["turn"]), int(str(run["ordinal"]))) for run in books.runs)
    known = set()
    for message in books.messages:
        for step in books.steps.get(message.id, []):
            if step.kind != "tool":
                continue
            known.add((message.id, step.ordinal))
            ran = real[message.id, step.ordinal]
            fewest = 1 if step.state == "done" else 0
            if not fewest <= ran <= 1:
                yield f"{message.external_id}: tool step {step} really ran {ran} times"
    if set(real) - known:
        yield f"tools ran without a step: {set(real) - known}"
    values = Counter(str(run["value"]) for run in books.runs if run["tool"] != "count_safe")
    yield from (f"{value} was counted {n} times" for value, n in values.items() if n > 1)


def deliveries(books: Books, posted: tuple[PostedMessage, ...], *, place: Place) -> Iterator[str]:
    """Every reply stands where it should, once; a second time only when it says so."""
    by_ref: dict[str, list[PostedMessage]] = defaultdict(list)
    for post in posted:
        by_ref[post.ref or ""].append(post)
    expected = Counter(m.id for m in books.messages if m.outcome != "merged")
    replies = Counter(d.message_id for d in books.deliveries if d.purpose == "reply")
    if expected != replies:
        yield f"replies that are missing or too many: {expected - replies} {replies - expected}"
    for delivery in books.deliveries:
        if delivery.platform == "rest":
            if delivery.state != "sent":
                yield f"{delivery} of a pull channel is not born sent"
            continue
        yield from _delivery(delivery, by_ref, place=place, mode=books.home.mode)
    if by_ref:
        chats = {post.chat for some in by_ref.values() for post in some}
        seen = [(post.chat, post.message_id, post.text) for post in posted if post.chat in chats]
        yield f"posts that no delivery explains: {dict(by_ref)} among {seen}"


def _delivery(
    delivery: DeliveryRow, by_ref: dict[str, list[PostedMessage]], *, place: Place, mode: Mode
) -> Iterator[str]:
    chunks = place.shown(delivery.text)
    if delivery.state not in {"sent", "dead"} and not (
        delivery.state == "unknown" and delivery.held
    ):
        yield f"{delivery} was left open"
    for number, text in enumerate(chunks):
        posts = by_ref.pop(f"{delivery.id}.{number}", [])
        if delivery.state == "dead" and posts:
            # A reply that was stopped keeps what was posted, and what was on the wire.
            if not delivery.stopped_at or number > delivery.stopped_at:
                yield f"{delivery} is dead and yet stands as {[post.text for post in posts]}"
            continue
        yield from _chunk(delivery, text, posts, mode=mode)


def _chunk(
    delivery: DeliveryRow, text: str, posts: list[PostedMessage], *, mode: Mode
) -> Iterator[str]:
    shown = [post.text for post in posts]
    marked = [seen for seen in shown if seen.startswith(REPEAT_PREFIX)]
    if delivery.state == "dead":
        return
    can_be_sure = mode.keys or mode.history or mode.place in ("matrix", "discord")
    # WhatsApp tells of what arrived, and nothing of what never did: that is marked, and stands once.
    proves = can_be_sure or mode.place == "whatsapp"
    if (can_be_sure and marked) or (proves and len(posts) > 1):
        yield f"{delivery} stands {len(posts)} times on a platform where that can be known: {shown}"
    if len(posts) - len(marked) > 1 or len(marked) > 1 or (marked and marked[-1] != shown[-1]):
        yield f"{delivery} was repeated without saying so: {shown}"
    if delivery.state == "sent":
        last = shown[-1].removeprefix(REPEAT_PREFIX) if shown else None
        if delivery.purpose == "notice" and last is not None:
            # A question with buttons says in the end what was chosen.
            last = last.partition("\n\n→ ")[0]
        if last != text:
            yield f"{delivery} is sent, but what stands is {shown}"
