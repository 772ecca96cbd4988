"""The languages that Hermes can speak: their names, their plural forms, and which one is asked for.

Pure. The plural rules are those of CLDR for whole numbers.
"""

from collections.abc import Callable, Collection
from typing import Literal

import msgspec

LanguageCode = Literal[
    "en", "id", "es", "fr", "de", "it", "pt", "nl", "ru", "uk", "tr", "ar", "hi", "zh", "ja", "ko"
]
ENGLISH = "en"
_LONGEST_LIST = 1_000


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """A language by its code.

    `forms` are the plural forms of a text with a count, and `form` says which one a number takes.
    `thousands` separates the digits of a large number.
    """

    code: str
    name: str
    forms: tuple[str, ...]
    form: Callable[[int], str]
    thousands: str = ","
    is_right_to_left: bool = False


def _one(count: int) -> str:
    return "one" if count == 1 else "other"


def _same(_count: int) -> str:
    return "other"


def _one_to_zero(count: int) -> str:
    return "one" if count in (0, 1) else "other"


def _french(count: int) -> str:
    return "many" if count and count % 1_000_000 == 0 else _one_to_zero(count)


def _romance(count: int) -> str:
    return "many" if count and count % 1_000_000 == 0 else _one(count)


def _portuguese(count: int) -> str:
    return "many" if count and count % 1_000_000 == 0 else _one_to_zero(count)


def _east_slavic(count: int) -> str:
    if count % 10 == 1 and count % 100 != 11:
        return "one"
    is_few = count % 10 in (2, 3, 4) and count % 100 not in (12, 13, 14)
    return "few" if is_few else "many"


def _arabic(count: int) -> str:
    if count in (0, 1, 2):
        return ("zero", "one", "two")[count]
    if 3 <= count % 100 <= 10:
        return "few"
    return "many" if count % 100 >= 11 else "other"


_TWO = ("one", "other")
_MANY = ("one", "many", "other")
_SLAVIC = ("one", "few", "many")
_ARABIC = ("zero", "one", "two", "few", "many", "other")
_ALONE = ("other",)

LANGUAGES: dict[str, Language] = {
    one.code: one
    for one in (
        Language(code="en", name="English", forms=_TWO, form=_one),
        Language(code="id", name="Bahasa Indonesia", forms=_ALONE, form=_same, thousands="."),
        Language(code="es", name="Español", forms=_MANY, form=_romance, thousands="."),
        Language(code="fr", name="Français", forms=_MANY, form=_french, thousands="\u202f"),
        Language(code="de", name="Deutsch", forms=_TWO, form=_one, thousands="."),
        Language(code="it", name="Italiano", forms=_MANY, form=_romance, thousands="."),
        Language(code="pt", name="Português", forms=_MANY, form=_portuguese, thousands="."),
        Language(code="nl", name="Nederlands", forms=_TWO, form=_one, thousands="."),
        Language(code="ru", name="Русский", forms=_SLAVIC, form=_east_slavic, thousands="\u202f"),
        Language(
            code="uk", name="Українська", forms=_SLAVIC, form=_east_slavic, thousands="\u202f"
        ),
        Language(code="tr", name="Türkçe", forms=_TWO, form=_one, thousands="."),
        Language(code="ar", name="العربية", forms=_ARABIC, form=_arabic, is_right_to_left=True),
        Language(code="hi", name="हिन्दी", forms=_TWO, form=_one_to_zero),
        Language(code="zh", name="中文", forms=_ALONE, form=_same),
        Language(code="ja", name="日本語", forms=_ALONE, form=_same),
        Language(code="ko", name="한국어", forms=_ALONE, form=_same),
    )
}


def language_of(tag: str, *, among: Collection[str] = LANGUAGES.keys()) -> str | None:
    """Return the language of a tag such as `pt-BR` or `zh_Hans`, if it is one of these."""
    code = tag.strip().replace("_", "-").partition("-")[0].lower()
    # `in` is the old code of Indonesian, which some platforms still send.
    code = "id" if code == "in" else code
    return code if code in among else None


def accepted_language(header: str, *, among: Collection[str] = LANGUAGES.keys()) -> str | None:
    """Return the language that an `Accept-Language` header likes best, of these."""
    best, liked = None, 0.0
    for item in header[:_LONGEST_LIST].split(","):
        tag, *options = item.split(";")
        code = language_of(tag, among=among)
        weight = _weight(options)
        if code is not None and weight > liked:
            best, liked = code, weight
    return best


def _weight(options: list[str]) -> float:
    for option in options:
        name, _, value = option.strip().partition("=")
        if name == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
