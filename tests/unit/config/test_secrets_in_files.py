"""Which configuration files contain a secret, so that a backup leaves them out."""

from pathlib import Path

import pytest

from hermes.config.load import secrets_in_files
from hermes.store.sql.key_prints import is_signed


@pytest.mark.req("W35")
def test_a_password_in_an_address_is_a_secret(tmp_path: Path) -> None:
    written = tmp_path / "config.yaml"
    written.write_text("proxy: http://proxy.test:3128\n")
    plain = secrets_in_files(tmp_path)
    written.write_text("proxy: http://bob:hunter2@proxy.test:3128\n")

    assert plain == {}
    assert secrets_in_files(tmp_path) == {"config.yaml": "proxy"}


def test_a_signature_of_any_letters_is_refused_and_no_error() -> None:
    assert not is_signed(b"key", b"content", "\u00e9\u00e9")
