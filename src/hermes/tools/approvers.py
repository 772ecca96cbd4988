"""Who may approve a tool call."""

from hermes.config import ApprovalSettings
from hermes.errors import Forbidden
from hermes.ports.approvals import Approval

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
