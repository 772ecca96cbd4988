"""Which tiers a person may have: those that the settings say something about."""

from hermes.config.settings import Settings


def tier_names(settings: Settings) -> tuple[str, ...]:
    """Return the names of the tiers; where tiers choose the model, only those that have models."""
    routing, priced = settings.routing, settings.credits.tiers
    return tuple(dict.fromkeys((*routing.tiers, *(() if routing.by_tier else priced))))
