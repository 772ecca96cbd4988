"""The operator's functions about scheduled jobs, as `/control` needs them; the desk has them."""

from typing import Protocol

from hermes.control.cron import JobAsk, JobOrder, JobsAsk, NewJobOrder


class CronOrders(Protocol):
    """About scheduled jobs."""

    async def list(self, ask: JobsAsk) -> object:
        """Return jobs."""
        ...

    async def show(self, ask: JobAsk) -> object:
        """Return one job."""
        ...

    async def add(self, order: NewJobOrder) -> object:
        """Make a job for a person."""
        ...

    async def pause(self, order: JobOrder) -> object:
        """Let a job rest."""
        ...

    async def resume(self, order: JobOrder) -> object:
        """Let a job run again."""
        ...

    async def run(self, order: JobOrder) -> object:
        """Run a job now."""
        ...

    async def remove(self, order: JobOrder) -> object:
        """Forget a job."""
        ...
