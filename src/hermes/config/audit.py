"""The settings of the audit log."""

from typing import Annotated

from pydantic import Field

from hermes.config.section import Section


class AuditSettings(Section):
    """Which orders of operators stay on record."""

    retention_days: Annotated[int, Field(ge=1, le=36_500)] = Field(
        default=365, description="How long an order is kept."
    )
    max_rows: Annotated[int, Field(ge=100, le=100_000_000)] = Field(
        default=100_000, description="At most this many orders are kept, the newest."
    )
