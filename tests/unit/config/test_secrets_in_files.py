"""Which configuration files contain a secret, so that a backup leaves them out."""

from pathlib import Path

import pytest

from hermes.config.load import secrets_in_files


@pytest.mark.req("W35")
def test_a_password_in_an_address_is_a_secret(tmp_path: Path) -> None:
    written = tmp_path / "config.yaml"
    written.write_text("proxy: http://proxy.test:3128\n")
    plain = secrets_in_files(tmp_path)
    written.write_text("proxy: http://bob:hunter2@proxy.test:3128\n")

    assert plain == {}
    assert secrets_in_files(tmp_path) == {"config.yaml": "proxy"}
