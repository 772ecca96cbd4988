"""Groups, over every channel whose platform has them: what is not meant for the bot, and other bots."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.channels.cases import CASES
from tests.contract.channels.house import Case, House

# Letters, machines and phones speak to the bot or not at all.
WITHOUT_GROUPS = frozenset({"email", "webhook", "whatsapp", "instagram", "messenger", "sms"})
IN_GROUPS = [case for case in CASES if case.platform not in WITHOUT_GROUPS]
every_group = pytest.mark.parametrize("case", IN_GROUPS, ids=[case.name for case in IN_GROUPS])


@pytest.fixture
async def house(case: Case, tmp_path: Path) -> AsyncIterator[House]:
    async with House(case, tmp_path / "home") as made:
        yield made
    assert made.platform.rejections == ()


def asked(house: House) -> str:
    """Return what the model was last asked, with what stood beside it."""
    return house.model.invocations[-1].text


@every_group
@pytest.mark.quality("mentions in groups")
@pytest.mark.req("W17", "W30")
async def test_what_does_not_name_the_bot_is_not_answered_but_known_once_it_is_asked(
    house: House,
) -> None:
    await house.say("lunch at noon?", chat_type="group", user="user-2", user_name="Bob")
    await house.answer("a barrier", chat="chat-2")
    assert house.texts() == []
    assert len(house.model.invocations) == 1

    await house.answer("when do we eat?", chat_type="group", mentions=True)
    assert "when do we eat?" in asked(house)
    assert "> [Bob] lunch at noon?" in asked(house)
    await house.answer("and where?", chat_type="group", mentions=True)
    assert "lunch at noon?" not in asked(house)


@every_group
@pytest.mark.quality("mentions in groups")
@pytest.mark.req("W17", "W18")
async def test_a_command_that_names_the_bot_works_in_a_group(house: House) -> None:
    post = await house.answer("/whoami", chat_type="group", mentions=True)
    assert "You are" in post.text
    assert house.model.invocations == []


@every_group
@pytest.mark.quality("bots ignored")
@pytest.mark.req("W17")
async def test_another_bot_is_ignored_even_if_it_names_this_one(house: House) -> None:
    await house.say(
        "beep", chat_type="group", user="user-9", user_name="Bot", is_bot=True, mentions=True
    )
    await house.answer("a barrier", chat="chat-2")
    assert house.texts() == []
    assert len(house.model.invocations) == 1
