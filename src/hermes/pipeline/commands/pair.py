"""`/pair`: an admin lets somebody in who waits with a code, or refuses them."""

from hermes.errors import Forbidden, HermesError
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.texts.say import say, words

_USE = words(
    "Write /pair PLATFORM CODE, such as /pair telegram K7QM-4XWP, or /pair deny PLATFORM:USER."
)


async def pair(turn: Turn, ctx: TurnContext, argument: str) -> str:
    """Let in whoever was told a code, or make the code of somebody who waits worthless."""
    services = ctx.services
    first, _, rest = argument.partition(" ")
    is_denial = first.lower() == "deny"
    platform, _, user_id = rest.strip().partition(":") if is_denial else (first.lower(), "", rest)
    if not platform or not user_id.strip():
        return say(_USE)

    async def check() -> None:
        if not await services.reception.may_let_in(turn.person_id, platform):
            raise Forbidden(
                f"You are no admin of {platform[:40]}: only its own admins, and the owner, let people in there."
            )

    async def approve() -> str:
        await check()
        said, told_on = await services.reception.let_in(platform, user_id)
        if told_on:
            services.wake_outbox(told_on)
        return said

    async def deny() -> str:
        await check()
        return await services.reception.refuse(platform, user_id.strip())

    action, work = ("pairing.deny", deny) if is_denial else ("pairing.approve", approve)
    try:
        return await services.on_record(action, turn.person_id, work=work)
    except HermesError as error:
        return str(error)
