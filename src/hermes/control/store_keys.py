"""The order and the report of `hermes keys rotate-store`."""

import msgspec


class RotationOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Who wants the store to have a new key."""

    by: str = ""


class RotationReport(msgspec.Struct, frozen=True, kw_only=True):
    """How many data keys are wrapped with the new key, and how many old keys are gone."""

    data_keys: int
    removed: int
    key_file: str
