"""The chat commands: their names, their purpose, and how a message spells one.

Pure. `pipeline/commands` runs them, under the same names. Commands with `beside` run while a turn
is running; the others wait in the lane.
"""

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from hermes.errors import ConfigurationError
from hermes.texts.say import words

_WORD = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class CommandSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A command as people see it.

    `use` describes its arguments. With `admins`, only people whom the configuration names as admins
    may use it, even where everyone may use commands. One that `is_skill` is a message for the model,
    which gets the instructions of that skill with it.
    """

    name: str
    about: str
    use: str = ""
    examples: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    beside: bool = False
    admins: bool = False
    is_skill: bool = False


class TypedCommand(msgspec.Struct, frozen=True):
    """A message that is a command; `spec` is None if the command is unknown."""

    word: str
    argument: str
    spec: CommandSpec | None

    @property
    def name(self) -> str:
        """The command's main name, whichever alias was written."""
        return self.word if self.spec is None else self.spec.name

    @property
    def is_beside(self) -> bool:
        """Whether it runs beside a running turn; unknown commands are answered at once too."""
        return self.spec is None or self.spec.beside


BUILT_IN: tuple[CommandSpec, ...] = (
    CommandSpec(
        name="help",
        about=words("what you can say here"),
        use="[COMMAND]",
        examples=("/help", "/help schedule"),
        beside=True,
    ),
    CommandSpec(name="whoami", about=words("who you are to me"), beside=True),
    CommandSpec(
        name="new", about=words("start a new conversation"), aliases=("reset",), beside=True
    ),
    CommandSpec(
        name="stop",
        about=words("stop what I am doing; with all, also what I do in the background"),
        use="[all]",
        examples=("/stop", "/stop all"),
        beside=True,
    ),
    CommandSpec(name="status", about=words("what I am doing"), beside=True),
    CommandSpec(
        name="queue",
        about=words("say something that waits until I am done; alone: what waits"),
        use="[TEXT]",
        examples=("/queue and then translate it", "/queue"),
        beside=True,
    ),
    CommandSpec(
        name="steer",
        about=words("tell me something while I work, without stopping me"),
        use="TEXT",
        examples=("/steer keep it short",),
        beside=True,
    ),
    CommandSpec(
        name="background",
        about=words("have me do something beside this conversation"),
        use="TEXT",
        examples=("/background find three good articles on bees and sum them up",),
        beside=True,
    ),
    CommandSpec(
        name="approve",
        about=words("let a tool run that waits for it"),
        use="[ID]",
        beside=True,
    ),
    CommandSpec(name="deny", about=words("do not let it run"), use="[ID]", beside=True),
    CommandSpec(
        name="model",
        about=words("which model answers in this conversation"),
        use="[NAME | auto]",
        examples=("/model", "/model anthropic:claude-sonnet-4-6", "/model auto"),
    ),
    CommandSpec(
        name="reasoning",
        about=words("how long I think before I answer in this conversation"),
        use="[low | medium | high | large | off]",
        examples=("/reasoning high", "/reasoning large", "/reasoning off"),
    ),
    CommandSpec(
        name="undo",
        about=words(
            "take the last message, or more of them, and what followed out of the conversation"
        ),
        use="[NUMBER]",
        examples=("/undo", "/undo 3"),
    ),
    CommandSpec(name="retry", about=words("have me answer the last message again")),
    CommandSpec(name="compact", about=words("sum up what was said before the last message")),
    CommandSpec(
        name="branch",
        about=words("keep this state of the conversation under a name, or go back to one"),
        use="[NAME | list | to NAME]",
        examples=("/branch before-the-trip", "/branch list", "/branch to before-the-trip"),
    ),
    CommandSpec(
        name="memory",
        about=words("what I know of you"),
        use="[forget KEY]",
        examples=("/memory", "/memory forget diet"),
        beside=True,
    ),
    CommandSpec(
        name="search",
        about=words("find what was said before"),
        use="WORDS",
        examples=("/search invoice march", '/search "blue door"'),
        beside=True,
    ),
    CommandSpec(
        name="schedule",
        about=words("what I do for you at set times"),
        use="[WHEN: WHAT | show ID | pause ID | resume ID | run ID | output ID | remove ID]",
        examples=("/schedule every weekday at 9: what is on today?", "/schedule"),
        beside=True,
    ),
    CommandSpec(name="usage", about=words("what this conversation has used"), beside=True),
    CommandSpec(
        name="credits",
        about=words("what you have left"),
        use="[CODE]",
        examples=("/credits", "/credits AB12CD"),
    ),
    CommandSpec(
        name="language",
        about=words("in which language I tell you things like this one"),
        use="[CODE | auto]",
        examples=("/language", "/language de", "/language auto"),
    ),
    CommandSpec(
        name="link",
        about=words("use me from another account as the same person"),
        use="[CODE]",
        examples=("/link", "/link ABCD-EFGH"),
    ),
    CommandSpec(
        name="pair",
        about=words("let somebody in who waits with a code, or refuse them"),
        use="PLATFORM CODE | deny PLATFORM:USER",
        examples=("/pair telegram K7QM-4XWP", "/pair deny telegram:123"),
        beside=True,
        admins=True,
    ),
    CommandSpec(
        name="restart",
        about=words("finish what runs and start the gateway again"),
        beside=True,
        admins=True,
    ),
    CommandSpec(
        name="reload-mcp",
        about=words("read the tool servers of the configuration again"),
        use="[once | always | cancel]",
        examples=("/reload-mcp once",),
        admins=True,
    ),
)


# Finds a command that may come and go while the gateway runs, by its word.
FindLate = Callable[[str], CommandSpec | None]


def is_command_word(word: str) -> bool:
    """Return whether a built-in command has this name, or answers to it."""
    return any(word in (spec.name, *spec.aliases) for spec in BUILT_IN)


class CommandBook:
    """Every command of a gateway: the built-in ones and those of plugins.

    `late` knows more of them, such as skills and prompts, which come and go, and some of which are there
    for some people only, so iterating leaves them out. A word that the book has is never looked up there.
    """

    def __init__(self, more: Iterable[CommandSpec] = (), *, late: FindLate | None = None) -> None:
        self._late = late
        self._specs: dict[str, CommandSpec] = {}
        self._words: dict[str, CommandSpec] = {}
        for spec in (*BUILT_IN, *more):
            self._add(spec)

    def __iter__(self) -> Iterator[CommandSpec]:
        return iter(self._specs.values())

    def get(self, word: str) -> CommandSpec | None:
        """Return the command of a name, with or without its slash."""
        return self._find(word.removeprefix("/").lower())

    def read(self, text: str) -> TypedCommand | None:
        """Return the command that a message is; None if it is not a command.

        A slash followed by a word is a command; a path, a number or a slash alone is not.
        """
        if not text.startswith("/"):
            return None
        first, _, rest = text[1:].strip().partition("\n")
        word, _, argument = first.partition(" ")
        word = word.partition("@")[0].lower()
        spec = self._find(word)
        if spec is None and _WORD.fullmatch(word) is None:
            return None
        whole = f"{argument}\n{rest}" if rest else argument
        return TypedCommand(word, whole.strip(), spec)

    def _find(self, word: str) -> CommandSpec | None:
        found = self._words.get(word)
        return self._late(word) if found is None and self._late is not None else found

    def _add(self, spec: CommandSpec) -> None:
        for word in (spec.name, *spec.aliases):
            if _WORD.fullmatch(word) is None:
                raise ConfigurationError(
                    f"a command cannot be called {word!r}: expected small letters, digits, '-' and "
                    "'_', with a letter first; rename it in its plugin"
                )
            if word in self._words:
                raise ConfigurationError(
                    f"two commands are called /{word}; rename the plugin's, or remove it from `plugins`"
                )
            self._words[word] = spec
        self._specs[spec.name] = spec
