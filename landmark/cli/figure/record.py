"""What a figure shows, as JSON."""

import dataclasses
import json
from typing import Any


def print_json(**record: Any) -> None:
    """One object on one line."""
    print(json.dumps(record, ensure_ascii=False, default=dataclasses.asdict))
