"""The program: `landmark`, and `python -m landmark`, the form that torchrun takes."""

import sys

from landmark.core.crash import report_crash
from landmark.core.signals import answer_at_once


def main() -> None:
    """Answer signals, then import the command and run it."""
    answer_at_once()
    try:
        from landmark.cli.main import main as command
    except Exception as error:  # a dependency is missing, or the installation is damaged
        sys.exit(report_crash(error))
    command()


if __name__ == "__main__":
    main()
