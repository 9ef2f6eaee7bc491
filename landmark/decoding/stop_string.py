"""Text passed on as it is written, up to the first of some strings that end it."""

from collections.abc import Sequence


class StopFilter:
    """Text in, piece by piece; out comes what no stop string can begin in any more."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.stops = tuple(stops)
        self.stopped = False
        self._waiting = ""

    def add(self, piece: str) -> str:
        """What may be shown now: nothing of a stop string, nor of what may become one."""
        text = self._waiting + piece
        places = [place for stop in self.stops if (place := text.find(stop)) >= 0]
        if places:
            self.stopped, self._waiting = True, ""
            return text[: min(places)]
        begun = max((_begun(text, stop) for stop in self.stops), default=0)
        shown = len(text) - begun
        self._waiting = text[shown:]
        return text[:shown]

    def finish(self) -> str:
        """What waited in vain, when nothing more comes."""
        text, self._waiting = self._waiting, ""
        return text


def _begun(text: str, stop: str) -> int:
    """How many characters of a stop string the text ends with."""
    sizes = range(min(len(stop) - 1, len(text)), 0, -1)
    return next((size for size in sizes if text.endswith(stop[:size])), 0)
