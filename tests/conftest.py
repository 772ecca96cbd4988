"""What holds for every test: logs are plain lines, since drawing tracebacks takes seconds."""

import structlog

structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(),
    ]
)
