"""Finds the JSON in a model's answer: small models often wrap it in text."""


def json_in(text: str) -> str:
    """Return the object in an answer, or the whole answer if there is none."""
    begin, end = text.find("{"), text.rfind("}")
    return text[begin : end + 1] if 0 <= begin < end else text
