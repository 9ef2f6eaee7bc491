"""An error that nobody expected: one line that says what to report, and the traceback in a file."""

import os
import platform
import sys
import tempfile
import traceback

_DEBUG = "LANDMARK_DEBUG"
_LONGEST = 300  # characters of an error's own message


def report_crash(error: BaseException) -> int:
    """Print one line about an unexpected error; returns the exit code.

    The traceback goes to a file, or to stderr if LANDMARK_DEBUG is set. Too little memory is no
    fault of ours: nothing is to be reported.
    """
    if _is_out_of_memory(error):
        return _print(f"out of memory ({_summary(error)}): take a smaller model, batch or beam", 2)
    trace = "".join(traceback.format_exception(error))
    if os.environ.get(_DEBUG):
        print(trace, file=sys.stderr, end="")
        where = "the traceback above"
    else:
        where = _write(trace)
    report = f"to report it, add {where} and what `landmark doctor` prints"
    return _print(f"unexpected error: {_summary(error)}; {report}", 1)


def _print(said: str, code: int) -> int:
    print(f"landmark: {said}", file=sys.stderr)
    return code


def _summary(error: BaseException) -> str:
    """Its kind, its message and its place, in one line."""
    message = " ".join(str(error).split())
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]}…"
    said = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if frames := traceback.extract_tb(error.__traceback__):
        said += f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})"
    return said


def _is_out_of_memory(error: BaseException) -> bool:
    """Python's and numpy's, that of torch's accelerators, that of torch on a CPU."""
    is_named = "OutOfMemoryError" in type(error).__name__
    return isinstance(error, MemoryError) or is_named or "can't allocate memory" in str(error)


def _write(trace: str) -> str:
    """Keep the traceback in a file of its own; where it is."""
    facts = f"{' '.join(sys.argv)}\nPython {platform.python_version()}, {platform.platform()}\n\n"
    try:
        handle, path = tempfile.mkstemp(prefix="landmark-error-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(facts + trace)
    except OSError:  # no folder for temporary files can be written to
        return f"the traceback, which {_DEBUG}=1 prints,"
    return path
