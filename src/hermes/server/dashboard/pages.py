"""The list of the dashboard's pages: one row for each, and nothing else to add for a new one.

The page's browser code is `static/pages/NAME.js`, its title `page.NAME` in `static/strings.js`.
"""

from typing import Final, Literal

import msgspec

from hermes.ports.access import Role

Group = Literal["now", "people", "agents", "operation", "access"]


class DashboardPage(msgspec.Struct, frozen=True):
    """One page: its name in the address, its group in the menu, and who may open it."""

    name: str
    group: Group
    least: Role


PAGES: Final[tuple[DashboardPage, ...]] = (
    DashboardPage("overview", "now", "viewer"),
    DashboardPage("live", "now", "operator"),
    DashboardPage("messages", "now", "operator"),
    DashboardPage("message", "now", "viewer"),
    DashboardPage("replay", "now", "operator"),
    DashboardPage("sessions", "now", "operator"),
    DashboardPage("deadletters", "now", "operator"),
    DashboardPage("approvals", "now", "operator"),
    DashboardPage("people", "people", "operator"),
    DashboardPage("agents", "agents", "viewer"),
    DashboardPage("models", "agents", "viewer"),
    DashboardPage("costs", "agents", "viewer"),
    DashboardPage("tools", "agents", "viewer"),
    DashboardPage("schedules", "agents", "operator"),
    DashboardPage("channels", "operation", "viewer"),
    DashboardPage("hooks", "operation", "viewer"),
    DashboardPage("settings", "operation", "operator"),
    DashboardPage("logs", "operation", "operator"),
    DashboardPage("doctor", "operation", "operator"),
    DashboardPage("backup", "operation", "operator"),
    DashboardPage("audit", "access", "operator"),
    DashboardPage("secrets", "access", "operator"),
    DashboardPage("tokens", "access", "owner"),
    DashboardPage("keys", "access", "viewer"),
    DashboardPage("orders", "access", "viewer"),
)
