"""Training data from message graphs: rows in the formats that trainers read, with certificates.

Pure: graphs come in, dicts go out, and the caller decides what may be used for training. It knows
no store, no person and no trainer.
"""

from hermes.graph.exports.check import verify_row
from hermes.graph.exports.jsonl import write_jsonl
from hermes.graph.exports.parquet import read_parquet, write_parquet
from hermes.graph.exports.report import Reason, Refusal, Report
from hermes.graph.exports.rows import export_rows, hashed_name
from hermes.graph.exports.shapes import FormatName
from hermes.graph.exports.sheet import Row
from hermes.graph.exports.tokens import IGNORED, Tokenizer

__all__ = [
    "IGNORED",
    "FormatName",
    "Reason",
    "Refusal",
    "Report",
    "Row",
    "Tokenizer",
    "export_rows",
    "hashed_name",
    "read_parquet",
    "verify_row",
    "write_jsonl",
    "write_parquet",
]
