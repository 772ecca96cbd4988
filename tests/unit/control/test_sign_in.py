"""Links that operators ask for end with the credential that asked for them."""

import pytest

from hermes.control.sign_in import SignInOperations
from hermes.control.tokens import SignInLinkOrder


class Access:
    """Makes codes that say for whom they were made."""

    async def make_signin_code(self, maker: str = "", *, revoke_others: bool = False) -> str:
        return f"{maker}-{revoke_others}"


@pytest.mark.req("W35")
async def test_a_link_knows_who_asked_for_it() -> None:
    operations = SignInOperations(Access(), address="https://chat.example")

    made = await operations.link(SignInLinkOrder(revoke_others=True), "t_1")

    assert made.link == "https://chat.example/signin?code=t_1-True"
