"""The places of sealed values: what each is, and the key of the row that it belongs to.

A sealed value opens at its place alone. A body that several rows refer to, such as an answer that is
a step, a message of a graph and a reply, belongs to its own row of `blobs`.
"""

Place = tuple[str | int | bytes, ...]

# Bound to its person alone. Only for a column of a graph's row, whose digest covers it.
NO_PLACE: Place = ()
# A person has one.
DREAM_PLACE: Place = ("dream",)


def blob_place(body_id: int) -> Place:
    """Return the place of a body that several rows may refer to."""
    return ("blob", body_id)


def event_place(message_id: str) -> Place:
    """Return the place of what a message said."""
    return ("event", message_id)


def result_place(message_id: str) -> Place:
    """Return the place of the outcome of a message."""
    return ("result", message_id)


def name_place(platform: str, user_id: str) -> Place:
    """Return the place of the name that a platform shows for a user."""
    return ("name", platform, user_id)


def fact_place(fact_id: str) -> Place:
    """Return the place of a fact."""
    return ("fact", fact_id)


def page_place(model: str, number: int) -> Place:
    """Return the place of a page of vectors."""
    return ("page", model, number)


def soul_place(lane: str, epoch: int) -> Place:
    """Return the place of the blocks that a conversation began with."""
    return ("soul", lane, epoch)


def job_place(job_id: str) -> Place:
    """Return the place of a scheduled job."""
    return ("job", job_id)


def story_place(delivery_id: str) -> Place:
    """Return the place of the notes about a delivery."""
    return ("story", delivery_id)


def chat_place(platform: str, chat_id: str) -> Place:
    """Return the place of a chat's entry in the directory."""
    return ("chat", platform, chat_id)


def secret_place(agent: str, name: str) -> Place:
    """Return the place of a secret of an agent; the gateway's own have an empty agent."""
    return ("secret", agent, name)


def state_place(platform: str, key: str) -> Place:
    """Return the place of what a channel remembers."""
    return ("state", platform, key)


def push_place(task_id: str, push_id: str) -> Place:
    """Return the place of where a caller is notified of a task."""
    return ("push", task_id, push_id)


def replay_place(replay_id: str) -> Place:
    """Return the place of the report of a replay."""
    return ("replay", replay_id)


def agent_place(agent_id: str, version: int) -> Place:
    """Return the place of a version of an agent."""
    return ("agent", agent_id, version)
