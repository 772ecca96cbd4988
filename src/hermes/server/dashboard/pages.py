"""The list of the dashboard's pages: one row for each, and nothing else to add for a new one.

The page's browser code is `static/pages/NAME.js`, its title `page.NAME` in `static/strings.js`. The
orders of a row are those that the page gives; the test of the dashboard compares them with its code.
"""

from typing import Final, Literal

import msgspec

from hermes.ports.access import Role

Group = Literal["now", "people", "agents", "operation", "access"]


class Page(msgspec.Struct, frozen=True):
    """One page: its name in the address, its group in the menu, and who may open it."""

    name: str
    group: Group
    least: Role


PAGES: Final[tuple[Page, ...]] = (
    Page("overview", "now", "viewer"),
    Page("messages", "now", "operator"),
    Page("message", "now", "viewer"),
    Page("sessions", "now", "operator"),
    Page("orders", "access", "viewer"),
)
