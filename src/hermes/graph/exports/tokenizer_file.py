"""Reads a tokenizer with its chat template from files; the one place that knows transformers.

Nothing is fetched and no code from the files is run. transformers is an optional extra and is
loaded on use.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from hermes.errors import BadRequest, ConfigurationError, NotFound
from hermes.graph.exports.report import UnfitRow
from hermes.graph.exports.sheet import Line
from hermes.graph.exports.tokens import Tokenizer


class TemplateTokenizer:
    """Implements `exports.tokens.Tokenizer`: a tokenizer of transformers, and its chat template."""

    # Any: transformers has no types.
    def __init__(self, tokenizer: Any, template: str) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._refusal = import_module("jinja2").TemplateError

    @property
    def template(self) -> str:
        """The chat template as text."""
        return self._template

    def encode(
        self, messages: Sequence[Line], tools: list[Any] | None, *, open_answer: bool
    ) -> Sequence[int]:
        """Return the tokens of messages as the template writes them."""
        try:
            found: list[int] = self._tokenizer.apply_chat_template(
                list(messages), tools=tools, add_generation_prompt=open_answer, return_dict=False
            )
        except (self._refusal, AttributeError, LookupError, TypeError, ValueError) as problem:
            text = f"The chat template does not accept this conversation: {problem}"
            raise UnfitRow("tokens", text) from problem
        return found


def load_tokenizer(path: Path) -> Tokenizer:
    """Return the tokenizer of a folder, a `tokenizer.json` or a GGUF file."""
    if not path.exists():
        raise NotFound(
            f"There is no tokenizer {path}. Name its folder, tokenizer.json or GGUF file."
        )
    try:
        transformers = import_module("transformers")
    except ImportError as problem:
        raise ConfigurationError(
            "Token rows need the package transformers to read a tokenizer, but it is not "
            f"installed ({problem}). Install it beside Hermes: pip install transformers jinja2."
        ) from problem
    try:
        tokenizer = _read(transformers, path)
    # Boundary of transformers, whose readers raise nothing narrower: the error text is passed on.
    except Exception as problem:
        raise BadRequest(f"{path} is not a readable tokenizer: {problem}") from problem
    template = tokenizer.chat_template
    if not isinstance(template, str):
        raise BadRequest(
            f"The tokenizer {path} has no chat template of its own, so it cannot encode a "
            "conversation. Put a chat_template.jinja beside it."
        )
    return TemplateTokenizer(tokenizer, template)


def _read(transformers: Any, path: Path) -> Any:  # Any: as above
    if path.is_dir():
        return transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    folder = path.parent
    if path.suffix == ".gguf":
        return transformers.AutoTokenizer.from_pretrained(
            folder, gguf_file=path.name, local_files_only=True
        )
    if (folder / "tokenizer_config.json").exists():
        return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
    template = folder / "chat_template.jinja"
    if template.exists():
        tokenizer.chat_template = template.read_text(encoding="utf-8")
    return tokenizer
