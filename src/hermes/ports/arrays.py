"""numpy for those who need it, imported when the first array is made and never before.

An idle gateway does without its 20 MB. Matrix products stay on the thread that asks for them: for
matrices as small as ours more threads cost several times the time, and the gateway's other work.
"""

from typing import TYPE_CHECKING

from hermes.errors import ConfigurationError

__all__ = ["np"]

if TYPE_CHECKING:
    import numpy as np
else:

    class _OnUse:
        def __getattr__(self, name: str) -> object:
            found = getattr(_numpy(), name)
            setattr(self, name, found)
            return found

    np = _OnUse()


# object: the module, whose type is told above.
def _numpy() -> object:
    try:
        import numpy  # noqa: ICN001, PLC0415 - optional and heavy
        import threadpoolctl  # noqa: PLC0415 - of use only beside it
    except ImportError as error:
        raise ConfigurationError(
            f"recall by meaning needs the package {error.name}, which is not installed: run"
            " `pip install numpy threadpoolctl`, or turn recall off"
        ) from error
    threadpoolctl.threadpool_limits(1, user_api="blas")
    return numpy
