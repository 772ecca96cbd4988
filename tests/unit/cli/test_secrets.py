"""`hermes secrets` before a value is typed."""

import pytest


@pytest.mark.req("M9")
def test_a_wrong_name_is_refused_before_the_value_is_read(hermes):
    done = hermes("secrets", "set", "lower")

    assert done.returncode == 1
    assert "up to 64 capital letters, digits and _" in done.stderr
    assert "The value is empty" not in done.stderr
