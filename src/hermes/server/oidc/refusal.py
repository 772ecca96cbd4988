"""What is said about an answer of an identity provider that is not accepted."""

from hermes.errors import Unauthenticated


def not_valid(why: str) -> Unauthenticated:
    """Return the error for an answer that is not accepted."""
    return Unauthenticated(f"The answer of the identity provider is not valid: {why}.")
