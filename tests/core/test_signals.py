"""What a signal does before a command works, while it imports, and while it works."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from landmark.core.signals import Terminated, signals_raised

BOTH = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """Whatever the shell: what runs in the background of a script ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run(program: str, number: int, folder) -> subprocess.CompletedProcess[str]:
    """A program that strikes itself by `strike()`, with modules of `folder` to import."""
    opening = f"""
        import os, signal, sys, time
        sys.path.insert(0, {str(folder)!r})
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from landmark.core.signals import answer_at_once, signals_raised
        def strike():
            os.kill(os.getpid(), {int(number)})
        """
    words = [sys.executable, "-c", textwrap.dedent(opening) + textwrap.dedent(program)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("number", "said"), BOTH.items())
def test_before_and_after_the_work_the_process_ends_at_once_with_one_line(tmp_path, number, said):
    result = run("answer_at_once(); strike(); print('still there')", number, tmp_path)
    assert (result.returncode, result.stdout) == (128 + number, "")
    assert result.stderr == f"landmark: {said}\n"
    after = "answer_at_once()\nwith signals_raised(): pass\nstrike()"
    assert run(after, number, tmp_path).stderr == f"landmark: {said}\n"


@pytest.mark.parametrize("number", BOTH)
def test_while_python_shuts_down_a_finished_command_keeps_its_code(tmp_path, number):
    program = """
        class Late:
            def __del__(self, strike=strike):
                strike()
        import builtins
        builtins.late = Late()
        answer_at_once()
        """
    result = run(program, number, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(("number", "raised"), [(2, KeyboardInterrupt), (15, Terminated)])
def test_work_is_ended_by_an_exception_and_handlers_come_back(number, raised):
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt) as caught, signals_raised():
        os.kill(os.getpid(), number)
    assert caught.type is raised
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(("number", "said"), BOTH.items())
def test_an_import_before_torch_is_there_ends_the_process_at_once(tmp_path, number, said):
    (tmp_path / "heavy.py").write_text("import __main__\n__main__.strike()\n")
    result = run("with signals_raised(): import heavy", number, tmp_path)
    assert (result.returncode, result.stderr) == (128 + number, f"landmark: {said}\n")


@pytest.mark.parametrize(("number", "said"), [(2, "KeyboardInterrupt"), (15, "Terminated")])
def test_a_later_import_is_finished_before_the_signal_is_answered(tmp_path, number, said):
    (tmp_path / "torch.py").write_text("")
    (tmp_path / "heavy.py").write_text("import __main__\n__main__.strike()\ndone = True\n")
    program = """
        import torch
        try:
            with signals_raised():
                import heavy
                time.sleep(10)
        except KeyboardInterrupt as error:
            print(type(error).__name__, heavy.done)
        """
    assert run(program, number, tmp_path).stdout == f"{said} True\n"


@pytest.mark.parametrize("number", BOTH)
def test_an_exception_that_a_callback_swallows_comes_again(number):
    class Swallowing:
        def __del__(self) -> None:
            os.kill(os.getpid(), number)

    def work() -> None:
        with signals_raised():
            Swallowing()
            signal.pause()

    with pytest.raises(KeyboardInterrupt):
        work()


def test_a_signal_that_the_caller_ignores_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with signals_raised():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


PROBE = """
import signal, sys

class Probe:
    def find_spec(self, name, path=None, target=None):
        if name == "landmark.core.processor":
            print("handler:", signal.getsignal(signal.SIGTERM))

sys.meta_path.insert(0, Probe())
"""


@pytest.mark.parametrize(
    ("words", "is_it"),
    [
        (["-m", "landmark", "--version"], True),
        (["{folder}/landmark", "list"], True),
        (["-c", "import landmark", "landmark"], False),
        (["{folder}/program.py", "landmark"], False),
    ],
)
def test_only_the_command_answers_signals_on_import(tmp_path, words, is_it):
    """Seen by the first module after `signals`; a library's users keep their handlers."""
    (tmp_path / "sitecustomize.py").write_text(PROBE)
    for name in ("landmark", "program.py"):
        (tmp_path / name).write_text("import landmark")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    result = subprocess.run(
        [sys.executable, *(word.format(folder=tmp_path) for word in words)],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert ("end_at_once" in result.stdout) == is_it
    assert "handler:" in result.stdout


def test_after_its_last_line_a_signal_ends_a_command_with_its_code_and_no_other_line():
    code = (
        "import os; from landmark.core.signals import end_quietly; "
        "end_quietly(2); os.kill(os.getpid(), 15)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "")
