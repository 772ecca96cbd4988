from hermes.app.library import Hermes as Hermes
from hermes.app.library import HermesPiece as HermesPiece
from hermes.app.library import HermesReply as HermesReply

__version__: str
