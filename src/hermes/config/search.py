"""The settings of search: whether what was said is kept in an index that finds it again."""

from pydantic import Field

from hermes.config.section import Section


class SearchSettings(Section):
    """Full-text search over what was said."""

    enabled: bool = Field(
        default=True,
        description="Whether what people and agents say can be searched; the index is an encrypted "
        "file beside the database, made anew when it is missing.",
    )
