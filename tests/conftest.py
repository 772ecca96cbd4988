"""What holds for every test: logs are plain lines, since drawing tracebacks takes seconds.

Generated examples are the same in every run, so that a run says something about the code and not about
chance; `--hypothesis-profile=default` draws new ones.
"""

from importlib.util import find_spec

import structlog

structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(),
    ]
)

# The environment of `make test-training` has no hypothesis.
if find_spec("hypothesis") is not None:
    from hypothesis import settings

    settings.register_profile("steady", derandomize=True)
    settings.load_profile("steady")
