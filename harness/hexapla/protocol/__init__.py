"""The trainer protocol: lines, schemas and typed events.

Separate because everything else in the harness stands on it and it stands on nothing. It must not
start a process or know what a level is; of files it reads its own schemas, results and ledgers.
"""

from hexapla.protocol.events import (
    Abi,
    Bye,
    CaseResult,
    Checkpoint,
    Data,
    Done,
    Error,
    Evaluation,
    Event,
    Hello,
    Probe,
    Progress,
    Record,
    Skipped,
    Step,
    TensorInfo,
    float_bits,
    parse_event,
)
from hexapla.protocol.lines import LineError, parse_line, parse_object, write_line
from hexapla.protocol.reasons import Reason
from hexapla.protocol.results import LEVELS, Line, Outcome
from hexapla.protocol.validate import SchemaError, validate_event, validate_request

VERSION = 1

__all__ = [
    "LEVELS",
    "VERSION",
    "Abi",
    "Bye",
    "CaseResult",
    "Checkpoint",
    "Data",
    "Done",
    "Error",
    "Evaluation",
    "Event",
    "Hello",
    "Line",
    "LineError",
    "Outcome",
    "Probe",
    "Progress",
    "Reason",
    "Record",
    "SchemaError",
    "Skipped",
    "Step",
    "TensorInfo",
    "float_bits",
    "parse_event",
    "parse_line",
    "parse_object",
    "validate_event",
    "validate_request",
    "write_line",
]
