"""Options of figures, which help and the explorer read, load neither torch nor matplotlib."""

import subprocess
import sys

READ_ALL = """
import sys
from importlib import import_module
from landmark.cli.flags import flags_of
from landmark.figures import every_figure

for entry in every_figure().values():
    module = import_module(entry.module)
    flags = flags_of(module.Options)
    assert "output" in flags, entry.name
    assert all(flag.help for flag in flags.values()), entry.name
    assert all(hasattr(module, name) for name in ("compute", "draw", "table")), entry.name
print(" ".join({"torch", "matplotlib", "numpy"} & set(sys.modules)))
"""


def test_options_of_all_figures_are_read_without_torch():
    result = subprocess.run(
        [sys.executable, "-c", READ_ALL], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == ""
