"""The names of MCP tools: `mcp_{server}_{tool}`, as every model service takes them.

Pure. A name depends on the server's own list and on the names of the configured servers, never on
who connects first: an approval given to a name cannot come to mean another tool.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from hashlib import sha256

MAX_NAME = 64
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARS = 8


def tool_names(server: str, tools: Iterable[str], *, servers: Collection[str]) -> dict[str, str]:
    """Return the name of each tool of a server; `servers` are all that are configured.

    Of several that would get the same name, the one that needed no change keeps it.
    """
    plain = {tool: _plain(server, tool) for tool in tools}
    shared = Counter(plain.values())
    return {
        tool: name
        if _is_clear(server, tool, name=name, shared=shared[name] > 1, servers=servers)
        else _with_digest(server, tool)
        for tool, name in plain.items()
    }


def _plain(server: str, tool: str) -> str:
    return f"mcp_{server}_{_UNFIT.sub('_', tool)}"


def _is_clear(server: str, tool: str, *, name: str, shared: bool, servers: Collection[str]) -> bool:
    """Tell whether the plain name can mean this tool only."""
    if len(name) > MAX_NAME or (shared and _UNFIT.search(tool)):
        return False
    # The tool `b_c` of `a` must not pass for the tool `c` of `a_b`.
    return not any(
        name.startswith(f"mcp_{other}_") for other in servers if len(other) > len(server)
    )


def _with_digest(server: str, tool: str) -> str:
    digest = sha256(f"{server}\0{tool}".encode(errors="surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{_plain(server, tool)[: MAX_NAME - _DIGEST_CHARS - 1]}_{digest}"
