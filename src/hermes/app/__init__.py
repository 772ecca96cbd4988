"""The composition root: the only place that names concrete channels, providers and stores."""

from hermes.app.gateway import Gateway
from hermes.app.offline import offline_graph_reader, offline_operator, offline_store
from hermes.app.run import run_gateway

__all__ = ["Gateway", "offline_graph_reader", "offline_operator", "offline_store", "run_gateway"]
