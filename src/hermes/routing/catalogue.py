"""Whether a model is known for its service, by `prices.toml`.

Pure. The list is never complete: a model that is not listed works if the service has it. So an
unknown model is a reason to warn, not to refuse.
"""

from hermes.config import ProviderSettings
from hermes.config.keys import closeness
from hermes.ports.provider import ProviderInfo
from hermes.routing.prices import is_listed, listed_models, price_list, service_of

_MOST_SHOWN = 5


def note_on(model: str, info: ProviderInfo, table: ProviderSettings | None) -> str:
    """Return a warning for a person who chooses an unknown model; empty for any other.

    A local provider, or a service without a list, has whatever it says it has.
    """
    service = None if info.local else service_of(info, table)
    names = () if service is None else listed_models(service)
    if service is None or not names or model == info.model or is_listed(model, service):
        return ""
    near = sorted(names, key=lambda name: closeness(model, name), reverse=True)[:_MOST_SHOWN]
    return (
        f"{model} is not in the catalogue of {price_list().date.isoformat()}, which knows of "
        f"{info.name}: {', '.join(near)}{' and others' if len(names) > len(near) else ''}. If "
        f"{info.name} has no such model, the next call says so; what it costs is unknown."
    )
