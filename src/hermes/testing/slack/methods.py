"""The methods of the Web API on the stand-in's state. No I/O; the server handles faults and
tokens.
"""

import re
from collections.abc import Callable

from hermes.ports.clock import Clock
from hermes.testing.slack.arguments import Json
from hermes.testing.slack.markup import MOST_CHARS, check_blocks, check_mrkdwn
from hermes.testing.slack.refusal import SlackError
from hermes.testing.slack.state import (
    APP,
    BOT_ID,
    BOT_USER,
    TEAM,
    Channel,
    Message,
    SlackState,
    StoredFile,
)

_EVENT_TYPE = re.compile(r"[a-z0-9_]{1,255}")
_MOST_METADATA = 16_000
_DEFAULT_PAGE, _MOST_PAGE = 100, 999


class Methods:
    """Answers calls whose arguments and token are valid."""

    def __init__(self, state: SlackState, *, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._last_post: dict[str, float] = {}
        self.base_url = ""
        # Seconds between two messages to one channel; 0 means no limit.
        self.gap_s = 0.0
        self.statuses: list[tuple[str, str, str]] = []
        self.tickets: set[str] = set()
        self._made = 0
        self.handlers: dict[str, Callable[[Json], Json]] = {
            "api.test": lambda arguments: {"args": arguments},
            "auth.test": self._auth,
            "apps.connections.open": self._connection,
            "chat.postMessage": self._post,
            "chat.update": self._update,
            "chat.delete": self._delete,
            "conversations.history": self._history,
            "conversations.replies": self._replies,
            "conversations.list": self._list,
            "conversations.info": self._info,
            "conversations.open": self._open,
            "users.info": self._user,
            "files.getUploadURLExternal": self._upload_url,
            "files.completeUploadExternal": self._complete,
            "files.delete": self._delete_file,
            "assistant.threads.setStatus": self._status,
        }

    def _auth(self, _arguments: Json) -> Json:
        return {
            "url": "https://hermes.slack.com/",
            "team": "Hermes",
            "user": "hermes",
            "team_id": TEAM,
            "user_id": BOT_USER,
            "bot_id": BOT_ID,
            "is_enterprise_install": False,
        }

    def _connection(self, _arguments: Json) -> Json:
        self._made += 1
        ticket = f"ticket-{self._made}"
        self.tickets.add(ticket)
        host = self.base_url.removeprefix("http")
        return {"url": f"ws{host}/link/?ticket={ticket}&app_id={APP}"}

    def _post(self, arguments: Json) -> Json:
        channel = self._state.chat_to_write(arguments["channel"])
        self._check_content(arguments)
        self._check_gap(channel)
        message = self._state.add(
            Message(
                channel=channel.id,
                ts=self._state.make_ts(),
                user=BOT_USER,
                text=arguments.get("text", ""),
                thread_ts=arguments.get("thread_ts"),
                blocks=arguments.get("blocks", []),
                metadata=arguments.get("metadata"),
                is_bots=True,
            )
        )
        return {
            "channel": channel.id,
            "ts": message.ts,
            "message": message.shown(with_metadata=True),
        }

    def _update(self, arguments: Json) -> Json:
        message = self._own(arguments)
        self._check_content(arguments)
        message.text = arguments.get("text", message.text)
        # Arguments that are not given keep their old value.
        message.blocks = arguments.get("blocks", message.blocks)
        message.metadata = arguments.get("metadata", message.metadata)
        message.edits += 1
        return {"channel": message.channel, "ts": message.ts, "text": message.text}

    def _delete(self, arguments: Json) -> Json:
        message = self._own(arguments)
        message.is_deleted = True
        return {"channel": message.channel, "ts": message.ts}

    def _own(self, arguments: Json) -> Message:
        if not arguments["channel"].startswith(("C", "D", "G")):
            raise SlackError("channel_not_found", "not the id of a channel")
        channel = self._state.find_chat(arguments["channel"])
        message = self._state.find(channel.id, arguments["ts"])
        if not message.is_bots:
            raise SlackError("cant_update_message", "somebody else's message")
        return message

    def _check_content(self, arguments: Json) -> None:
        text, blocks = arguments.get("text", ""), arguments.get("blocks")
        if not text.strip() and not blocks:
            raise SlackError("no_text", "neither text nor blocks")
        if len(text) > MOST_CHARS:
            raise SlackError("msg_too_long", f"{len(text)} characters")
        check_mrkdwn(text)
        if blocks is not None:
            check_blocks(blocks)
        metadata = arguments.get("metadata")
        if metadata is not None:
            _check_metadata(metadata)

    def _check_gap(self, channel: Channel) -> None:
        now, last = self._clock.now(), self._last_post.get(channel.id, 0.0)
        if self.gap_s and now - last < self.gap_s:
            raise SlackError("ratelimited", f"{channel.name}: too soon", status=429, wait=1)
        self._last_post[channel.id] = now

    def _history(self, arguments: Json) -> Json:
        return self._page(arguments, thread=None)

    def _replies(self, arguments: Json) -> Json:
        try:
            return self._page(arguments, thread=arguments["ts"])
        except SlackError as error:
            code = "thread_not_found" if error.code == "message_not_found" else error.code
            raise SlackError(code, error.rule) from None

    def _page(self, arguments: Json, *, thread: str | None) -> Json:
        channel = self._state.find_chat(arguments["channel"])
        if not channel.is_member:
            raise SlackError("not_in_channel", channel.name)
        limit = arguments.get("limit", _DEFAULT_PAGE)
        if not 1 <= limit <= _MOST_PAGE:
            raise SlackError("invalid_limit", str(limit))
        start = _start(arguments)
        found = self._state.history(channel.id, oldest=arguments.get("oldest", "0"), thread=thread)
        with_metadata = arguments.get("include_all_metadata", False)
        page = [one.shown(with_metadata=with_metadata) for one in found[start : start + limit]]
        return {"messages": page, **_more(start + limit, len(found))}

    def _list(self, arguments: Json) -> Json:
        kinds = arguments.get("types", "public_channel").split(",")
        if not set(kinds) <= {"public_channel", "private_channel", "mpim", "im"}:
            raise SlackError("invalid_types", str(kinds))
        prefixes = {"public_channel": "C", "private_channel": "G", "mpim": "G", "im": "D"}
        wanted = {prefixes[kind] for kind in kinds}
        found = [self._told(one) for one in self._state.channels.values() if one.id[0] in wanted]
        start, limit = _start(arguments), arguments.get("limit", _DEFAULT_PAGE)
        return {"channels": found[start : start + limit], **_more(start + limit, len(found))}

    def _info(self, arguments: Json) -> Json:
        told = self._told(self._state.find_chat(arguments["channel"]))
        if arguments.get("include_num_members"):
            told["num_members"] = len(self._state.users)
        return {"channel": told}

    def _told(self, channel: Channel) -> Json:
        told: Json = {"id": channel.id, "is_archived": channel.is_archived}
        if channel.id.startswith("D"):
            return {**told, "is_im": True, "user": channel.user or "USLACKBOT"}
        topic = {"value": f"All about {channel.name}", "creator": "", "last_set": 0}
        return {
            **told,
            "name": channel.name,
            "is_im": False,
            "is_mpim": False,
            "is_channel": channel.id.startswith("C"),
            "is_member": channel.is_member,
            "topic": topic,
        }

    def _open(self, arguments: Json) -> Json:
        return {"channel": {"id": self._state.open_direct(arguments.get("users", ""))}}

    def _user(self, arguments: Json) -> Json:
        name = self._state.users.get(arguments["user"])
        if name is None:
            raise SlackError("user_not_found", arguments["user"])
        profile = {"display_name": name, "real_name": name}
        return {"user": {"id": arguments["user"], "name": name.lower(), "profile": profile}}

    def _upload_url(self, arguments: Json) -> Json:
        if arguments["length"] <= 0 or not arguments["filename"]:
            raise SlackError("invalid_arguments", "an empty file or name")
        file_id = f"F{len(self._state.files) + 1:09}"
        name, length = arguments["filename"], arguments["length"]
        self._state.files[file_id] = StoredFile(id=file_id, name=name, length=length)
        return {"upload_url": f"{self.base_url}/upload/v1/{file_id}", "file_id": file_id}

    def _complete(self, arguments: Json) -> Json:
        shown = [self._ready(one) for one in arguments["files"]]
        if not shown:
            raise SlackError("invalid_arguments", "no files")
        if "channel_id" in arguments:
            if not arguments["channel_id"].startswith(("C", "D", "G")):
                raise SlackError("channel_not_found", "not the id of a channel")
            channel = self._state.chat_to_write(arguments["channel_id"])
            check_mrkdwn(arguments.get("initial_comment", ""))
            self._check_gap(channel)
            self._state.add(
                Message(
                    channel=channel.id,
                    ts=self._state.make_ts(),
                    user=BOT_USER,
                    text=arguments.get("initial_comment", ""),
                    thread_ts=arguments.get("thread_ts"),
                    files=shown,
                    is_bots=True,
                )
            )
        for one in shown:
            self._state.files[one["id"]].is_shared = True
        return {"files": shown}

    def _ready(self, named: Json) -> Json:
        file = self._state.files.get(named.get("id", ""))
        if file is None or file.data is None:
            raise SlackError("file_not_found", "a file that was not uploaded")
        if file.is_shared:
            raise SlackError("file_already_completed", file.id)
        return {"id": file.id, "title": named.get("title", file.name), "name": file.name}

    def _delete_file(self, arguments: Json) -> Json:
        if self._state.files.pop(arguments["file"], None) is None:
            raise SlackError("file_not_found", arguments["file"])
        for message in self._state.messages:
            if any(file["id"] == arguments["file"] for file in message.files):
                message.is_deleted = True
        return {}

    def _status(self, arguments: Json) -> Json:
        channel = self._state.find_chat(arguments["channel_id"])
        self._state.find(channel.id, arguments["thread_ts"])
        self.statuses.append((channel.id, arguments["thread_ts"], arguments["status"]))
        return {}


def _check_metadata(metadata: Json) -> None:
    if set(metadata) - {"event_type", "event_payload", "entities"}:
        raise SlackError("invalid_metadata_format", "unknown fields")
    if not _EVENT_TYPE.fullmatch(str(metadata.get("event_type"))):
        raise SlackError("invalid_metadata_format", "event_type")
    if not isinstance(metadata.get("event_payload"), dict):
        raise SlackError("invalid_metadata_format", "event_payload")
    if len(str(metadata)) > _MOST_METADATA:
        raise SlackError("metadata_too_large", "event_payload")


def _start(arguments: Json) -> int:
    cursor = arguments.get("cursor", "")
    if cursor and not cursor.startswith("page:"):
        raise SlackError("invalid_cursor", cursor[:40])
    return int(cursor.removeprefix("page:")) if cursor else 0


def _more(end: int, count: int) -> Json:
    cursor = f"page:{end}" if end < count else ""
    return {"has_more": bool(cursor), "response_metadata": {"next_cursor": cursor}}
