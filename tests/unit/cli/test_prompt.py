import pytest

from hermes.cli.chat import ChatMemory, read_message


def typed(*lines: str):
    waiting = list(lines)

    def read_line(_prompt: str) -> str:
        if not waiting:
            raise EOFError
        return waiting.pop(0)

    return read_line


@pytest.mark.req("W18")
@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("hello",), "hello"),
        (("one\\", "two\\", "three"), "one\ntwo\nthree"),
        (('"""', "a", "  b", '"""'), "a\n  b"),
        (("",), ""),
    ],
)
def test_a_message_is_a_line_continued_lines_or_a_block(lines, message):
    assert read_message(typed(*lines)) == message


@pytest.mark.req("W18")
def test_the_end_of_the_input_is_passed_on():
    with pytest.raises(EOFError):
        read_message(typed())


@pytest.mark.req("W22")
def test_a_damaged_memory_starts_a_fresh_conversation(tmp_path):
    memory = ChatMemory(tmp_path)
    assert memory.conversation(lambda prefix: f"{prefix}_1", fresh=False) == "c_1"
    assert memory.conversation(lambda prefix: f"{prefix}_2", fresh=False) == "c_1"

    (tmp_path / "chat" / "conversation").write_text("x" * 201)

    assert memory.conversation(lambda prefix: f"{prefix}_3", fresh=False) == "c_3"
