"""A plugin takes the place of a built-in platform, and status says which."""

from pathlib import Path

import pytest

from hermes.app.gateway import Gateway
from hermes.config import load

PLUGIN = """
class Mine:
    name = "telegram"

    def __init__(self, setup):
        self.capabilities = setup.capabilities
        self.token = setup.settings["bot_token"]

    async def connect(self, accept):
        assert self.token == "1:mine"

    async def disconnect(self):
        pass

    async def send(self, delivery):
        raise AssertionError

    async def edit(self, target, platform_message_id, *, text):
        raise AssertionError

    async def find(self, target, key):
        return None


def register(registry):
    registry.platform(__name__, Mine)
"""
MANIFEST = """
name = "telegram"
label = "Telegram of our own"

[capabilities]
delivery = "push"
unknown = "allow"

[settings]
bot_token = { help = "The token.", type = "secret", required = true }

[auth]
scheme = "bearer"

[quality]
verified = []
"""
CONFIG = """
plugins: [./mine]
server: {port: 0}
memory: {recall: false}
search: {enabled: false}
platforms: {telegram: {enabled: true, extra: {bot_token: "1:mine"}}}
"""


@pytest.mark.req("W12")
async def test_a_plugin_replaces_a_built_in_platform_and_status_names_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "mine").mkdir(parents=True)
    home.chmod(0o700)
    (home / "mine" / "__init__.py").write_text(PLUGIN)
    (home / "mine" / "manifest.toml").write_text(MANIFEST)
    (home / "config.yaml").write_text(CONFIG)
    (home / "config.yaml").chmod(0o600)

    async with Gateway(load({}, home)) as gateway:
        (telegram,) = (
            one for one in (await gateway.reports.status()).channels if one.name == "telegram"
        )
        assert telegram.plugin == "hermes_plugin_mine"
