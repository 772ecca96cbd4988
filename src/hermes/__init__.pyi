from hermes.app.embedded import Hermes as Hermes
from hermes.app.embedded import HermesPiece as HermesPiece
from hermes.app.embedded import HermesReply as HermesReply

__version__: str
