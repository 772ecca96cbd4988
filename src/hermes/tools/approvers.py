"""Who may approve a tool call."""

from hermes.config import ApprovalSettings
from hermes.errors import Forbidden
from hermes.ports.approvals import Approval

# In the place of a chat's type: what is asked for happens in a chat of others.
ELSEWHERE = "elsewhere"


def check_approver(approval: Approval, approver: str, *, settings: ApprovalSettings) -> None:
    """Raise `Forbidden` unless `approver` (`platform:user`) may decide this approval.

    In direct chats the person decides; in groups, and about what happens in the chats of others,
    only admins do; and where the policy says so, nobody decides what their own message caused.
    """
    is_admin = approver in settings.admins
    if approval.chat_type == ELSEWHERE and not is_admin:
        raise Forbidden("only admins (approvals.admins) decide about the chats of others")
    if approval.chat_type != "dm" and not is_admin:
        raise Forbidden("in groups only admins approve; add yourself to approvals.admins")
    if approver == approval.requester and not settings.allow_self:
        raise Forbidden("the policy (approvals.allow_self) asks for somebody else to approve this")
    if approver != approval.requester and not is_admin:
        raise Forbidden("only the person who asked, or an admin, may decide this")
