"""Exceptions whose message is for the user."""


class UserError(Exception):
    """A mistake in what the user gave us: one line that says what, where and what to do.

    The command line prints it without a traceback and exits with code 2.
    """


class ItemError(UserError):
    """A fault of one input of many: the others can still be processed."""


class TrainingError(UserError):
    """Training cannot go on (a loss that is not finite, a full disk); what was saved is intact."""


class DamagedError(UserError):
    """A file is not what was written; nothing of it was used."""
