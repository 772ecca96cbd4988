"""Who may approve a tool call."""

import msgspec

from hermes.config import ApprovalSettings
from hermes.errors import Forbidden
from hermes.ports.approvals import Approval
from hermes.ports.tool import Deciders

# Used in place of a chat type: the requested action affects other people's chats.
ELSEWHERE = "elsewhere"


def check_approver(approval: Approval, approver: str, *, settings: ApprovalSettings) -> None:
    """Raise `Forbidden` unless `approver` (`platform:user`) may decide this approval.

    In direct chats the person decides. In groups, and for actions in other people's chats, only
    admins decide. If the policy says so, nobody may decide on what their own message caused.
    """
    is_admin = approver in settings.admins
    if approval.chat_type == ELSEWHERE and not is_admin:
        raise Forbidden("only admins (approvals.admins) may decide about other people's chats")
    if approval.chat_type != "dm" and not is_admin:
        raise Forbidden("in groups only admins may approve; add yourself to approvals.admins")
    if approver == approval.requester and not settings.allow_self:
        raise Forbidden("the policy (approvals.allow_self) requires another person to approve this")
    if approver != approval.requester and not is_admin:
        raise Forbidden("only the person who asked, or an admin, may decide this")


def check_decider(
    asked: Approval, approver: str, *, deciders: Deciders, settings: ApprovalSettings
) -> None:
    """Raise `Forbidden` unless `approver` (`platform:user`) may answer this question of a running tool."""
    is_asked = approver == asked.requester
    if deciders == "person" and not is_asked:
        raise Forbidden("Only the person who was asked may answer this.")
    if deciders == "approvers" and not is_asked and approver not in settings.admins:
        raise Forbidden("Only the person who was asked, or an admin, may decide this.")
    if deciders == "admins":
        check_approver(
            msgspec.structs.replace(asked, chat_type=ELSEWHERE), approver, settings=settings
        )
