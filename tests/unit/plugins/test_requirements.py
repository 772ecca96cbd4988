"""What a channel needs on the machine is checked first, and the error says how it is installed."""

from pathlib import Path

import pytest

from hermes.errors import ConfigurationError
from hermes.plugins.loader import load_plugin
from hermes.plugins.registry import Registry
from hermes.plugins.requirements import Requirements

REQUIRES = """
name = "mailbox"
[capabilities]
delivery = "push"
[requires]
modules = ["no_such_module_of_mail"]
install = "pip install mail"
"""


@pytest.mark.req("W12")
def test_what_is_missing_is_named_with_its_installation() -> None:
    there = Requirements(modules=("json", "email.message"), programs=("sh",), install="x")
    lacking = Requirements(
        modules=("no_such_module.of_mail",),
        programs=("no-such-program",),
        install="pip install mail",
    )
    assert there.problem() == ""
    assert lacking.problem() == (
        "the Python module no_such_module.of_mail and the program no-such-program is not installed: "
        "run `pip install mail`"
    )


@pytest.mark.req("W12")
def test_a_plugin_that_imports_what_is_missing_says_how_it_is_installed(tmp_path: Path) -> None:
    folder = tmp_path / "mailbox_without_its_module"
    folder.mkdir(mode=0o700)
    (folder / "manifest.toml").write_text(REQUIRES)
    (folder / "__init__.py").write_text("import no_such_module_of_mail\n")

    with pytest.raises(ConfigurationError) as refused:
        load_plugin(str(folder), Registry(), home=tmp_path)

    assert "does not load: ModuleNotFoundError" in str(refused.value)
    assert (
        ". The Python module no_such_module_of_mail is not installed: run `pip install mail`, or "
        "remove it from `plugins`" in str(refused.value)
    )
