"""Converts what people do on the stand-in to Slack's events. No I/O."""

import re
from typing import Any

import msgspec

from hermes.testing.slack.state import APP, BOT_USER, TEAM, Message, SlackState, StoredFile
from hermes.testing.stand_in import File, PersonMessage

Json = dict[str, Any]
_URL = re.compile(r"https?://[^\s<>|]+")


class PersonAction(msgspec.Struct, frozen=True, kw_only=True):
    """A person's action: its name, and its calls of the Events API."""

    id: str
    calls: tuple[Json, ...]


class Events:
    """Makes events and records them."""

    def __init__(self, state: SlackState) -> None:
        self._state = state
        self._made = 0
        self.base_url = ""

    def happen(self, said: PersonMessage) -> PersonAction:
        """Write as a person; a mention of the bot in a channel makes two events."""
        user = self._state.open_user(said.user, said.user_name)
        direct = user if said.chat_type == "dm" else None
        channel = self._state.open_chat(said.chat, chat_type=said.chat_type, user=direct)
        ts = self._state.ts_of(said.id)
        typed = _as_sent(said.text)
        text = f"<@{BOT_USER}> {typed}" if said.mentions else typed
        event: Json = {"type": "message", "channel": channel, "user": user, "text": text, "ts": ts}
        thread = self._thread(said, channel, user=user)
        if thread is not None and thread != ts:
            parent = self._state.find(channel, thread)
            event |= {"thread_ts": thread, "parent_user_id": parent.user}
        if said.files:
            event |= {"subtype": "file_share", "files": [self._file(one) for one in said.files]}
        if said.is_bot:
            event |= {"bot_id": f"B{user[1:]}", "app_id": "A0OTHER001"}
        self._keep(event)
        event |= {"event_ts": ts, "team": TEAM}
        kinds = {"D": "im", "G": "mpim"}
        calls = [self.call({**event, "channel_type": kinds.get(channel[0], "channel")})]
        if said.mentions and direct is None:
            # Slack leaves out the channel's type, and the author of the thread.
            left = {key: value for key, value in event.items() if key not in _ONLY_MESSAGE}
            calls.append(self.call({**left, "type": "app_mention"}))
        return PersonAction(id=f"{channel}:{ts}", calls=tuple(calls))

    def call(self, event: Json) -> Json:
        """Return the call of the Events API for an event."""
        self._made += 1
        return {
            "token": "deprecated",
            "team_id": TEAM,
            "api_app_id": APP,
            "event": event,
            "type": "event_callback",
            "event_id": f"Ev{self._made:010}",
            "event_time": int(float(event.get("ts", "0"))),
            "authorizations": [{"team_id": TEAM, "user_id": BOT_USER, "is_bot": True}],
        }

    def command(self, said: PersonMessage, command: str) -> Json:
        """Return the fields of a slash command."""
        self._made += 1
        user = self._state.open_user(said.user, said.user_name)
        channel = self._state.open_chat(said.chat, chat_type=said.chat_type)
        is_direct = channel.startswith("D")
        return {
            "token": "deprecated",
            "team_id": TEAM,
            "team_domain": "hermes",
            "channel_id": channel,
            "channel_name": "directmessage" if is_direct else said.chat,
            "user_id": user,
            "user_name": said.user_name,
            "command": command,
            "text": said.text,
            "api_app_id": APP,
            "is_enterprise_install": "false",
            "response_url": f"{self.base_url}/commands/{self._made}",
            "trigger_id": said.id or f"{self._made}.{TEAM}.trigger",
        }

    def press(self, said: PersonMessage) -> Json:
        """Return the payload of a pressed button whose value is the text."""
        self._made += 1
        user = self._state.open_user(said.user, said.user_name)
        channel = self._state.open_chat(said.chat, chat_type=said.chat_type)
        ts = self._state.ts_of(said.reply_to or "")
        action = {
            "type": "button",
            "action_id": "answer",
            "block_id": "b1",
            "value": said.text,
            "text": {"type": "plain_text", "text": said.text},
            "action_ts": said.id or self._state.make_ts(),
        }
        return {
            "type": "block_actions",
            "user": {"id": user, "username": said.user_name, "name": said.user_name},
            "team": {"id": TEAM, "domain": "hermes"},
            "channel": {"id": channel, "name": said.chat},
            "container": {"type": "message", "message_ts": ts, "channel_id": channel},
            "trigger_id": f"{self._made}.{TEAM}.trigger",
            "actions": [action],
        }

    def _thread(self, said: PersonMessage, channel: str, *, user: str) -> str | None:
        """Return the thread of a message; a thread that a test names is created."""
        name = said.thread or said.reply_to
        if name is None:
            return None
        ts = self._state.ts_of(name.rpartition(":")[2])
        known = [one for one in self._state.messages if (one.channel, one.ts) == (channel, ts)]
        if not known:
            self._state.add(Message(channel=channel, ts=ts, user=user, text="a thread begins"))
            return ts
        return known[0].thread_ts or ts

    def _file(self, file: File) -> Json:
        file_id = f"F{len(self._state.files) + 1:09}"
        self._state.files[file_id] = StoredFile(
            id=file_id, name=file.name, length=len(file.data), mime=file.mime, data=file.data
        )
        address = f"{self.base_url}/files-pri/{TEAM}-{file_id}/{file.name}"
        return {
            "id": file_id,
            "name": file.name,
            "title": file.name,
            "mimetype": file.mime,
            "size": len(file.data),
            "mode": "hosted",
            "is_external": False,
            "url_private": address,
            "url_private_download": f"{address}?download=1",
        }

    def _keep(self, event: Json) -> None:
        known = {(one.channel, one.ts) for one in self._state.messages}
        if (event["channel"], event["ts"]) not in known:
            self._state.add(
                Message(
                    channel=event["channel"],
                    ts=event["ts"],
                    user=event["user"],
                    text=event["text"],
                    thread_ts=event.get("thread_ts"),
                    files=event.get("files", []),
                )
            )


_ONLY_MESSAGE = frozenset({"subtype", "parent_user_id"})


def _as_sent(typed: str) -> str:
    """Return a typed text as Slack sends it: escaped, and with its links marked."""
    escaped = typed.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _URL.sub(lambda found: f"<{found[0]}>", escaped)
