"""Writes steps, before an effect and after it, inside a transaction that holds the lease."""

from hermes.errors import GuardFailed
from hermes.ports.steps import Step
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("turns")


async def start_steps(
    engine: Engine,
    tx: Tx,
    message_id: str,
    *,
    person_id: str,
    steps: tuple[Step, ...],
) -> None:
    """Insert steps; a step that is created `done` (prepared, steer) ends when it starts."""
    for step in steps:
        body = None if step.body is None else await engine.sealer.put(tx, person_id, step.body)
        tx.put(
            _SQL["start_step"],
            message_id,
            step.ordinal,
            step.kind,
            step.state,
            step.name,
            step.arguments_hash,
            person_id,
            body,
            step.payer,
            step.at,
            step.at if step.state == "done" else None,
            _facts(step),
        )


async def end_steps(
    engine: Engine,
    tx: Tx,
    message_id: str,
    *,
    person_id: str,
    steps: tuple[Step, ...],
) -> dict[int, int]:
    """Record the results of steps; return the body ids by ordinal."""
    bodies: dict[int, int] = {}
    for step in steps:
        body = None
        if step.body is not None:
            body = bodies[step.ordinal] = await engine.sealer.put(tx, person_id, step.body)
        usage = step.usage
        tx.must(
            _SQL["end_step"],
            message_id,
            step.ordinal,
            step.state,
            body,
            usage.tokens_in,
            usage.tokens_out,
            usage.cached_in,
            usage.reasoning_out,
            usage.cost_usd,
            usage.unpriced,
            step.payer,
            step.at,
            _facts(step),
            error=GuardFailed(f"step {step.ordinal} of {message_id} is not open"),
        )
    return bodies


def _facts(step: Step) -> str:
    return "" if step.facts is None else encode(step.facts).decode()
