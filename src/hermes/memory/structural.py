"""The structural keys: facts worth knowing about everyone, always in the soul. Pure.

Which keys these are is configuration (`memory.facts`). A fact that was stored under a key that is
none any more stays structural, so that nothing disappears from a person's sessions.
"""

from collections.abc import Iterator, Mapping

from hermes.config import FactKeySettings, MemorySettings


class FactKeys:
    """The structural keys of a gateway, in their order."""

    def __init__(self, settings: Mapping[str, FactKeySettings]) -> None:
        self._keys = {name: key for name, key in settings.items() if key.enabled}
        self._names = {_plain(also): name for name, key in settings.items() for also in key.also}

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def about(self, key: str) -> str:
        """Return what a key is about, such as fitness; empty for the person as a whole."""
        return self._keys[key].about if key in self._keys else ""

    def meanings(self) -> Iterator[tuple[str, str]]:
        """Return each key with its meaning, for the model that looks for facts."""
        return ((name, key.meaning) for name, key in self._keys.items())

    def common(self, text: str) -> str:
        """Return a key in the form in which it is stored: lower case, one word for one thing."""
        key = _plain(text)
        return self._names.get(key, key)


def _plain(text: str) -> str:
    key = "_".join(text.casefold().replace("-", " ").replace("_", " ").split())
    return key.replace("favorite", "favourite")


BUILT_IN = FactKeys(MemorySettings().facts)
"""The keys of a gateway whose operator set none."""
