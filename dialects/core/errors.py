"""The one tree of errors that npuc raises on purpose.

Every error says what failed, where (source location and node of the model), why (the two values
that disagree) and what to do. A command line prints it as one paragraph; nothing in npuc catches an
error of another kind and goes on.
"""

from __future__ import annotations


class NpucError(Exception):
    """Base of all errors npuc raises.

    `what` is one sentence without a full stop; `where` starts with `file:line:col` when there is an
    IR location, followed by the node of the model; `why` names the values that disagree; `hint`
    says what to do.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        why: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what, where, why, hint)
        self.what = what
        self.where = where
        self.why = why
        self.hint = hint

    def __str__(self) -> str:
        """The paragraph: what, then indented lines for where, why and what to do."""
        details = (("where", self.where), ("why", self.why), ("do", self.hint))
        return "\n".join([self.what, *(f"  {label}: {text}" for label, text in details if text)])


class InputError(NpucError):
    """A model, file or argument that npuc was given is wrong."""


class UnsupportedError(InputError):
    """A sound input uses something npuc does not do; names all of it and what is supported."""


class VerifyError(NpucError):
    """IR that breaks a rule of its dialect, of dominance, or of the stage it is at."""


class PassError(NpucError):
    """A pass cannot proceed on IR that verifies."""


class CapacityError(PassError):
    """Something does not fit the machine: names buffers, source nodes, bytes, what would fit."""


class ProgramError(NpucError):
    """A program file, its bytes or its assembly text are malformed, damaged or too new."""


class ExecutionError(NpucError):
    """Running IR or a program went wrong; the subclasses name what the emulator can detect."""


class RaceError(ExecutionError):
    """Unordered accesses to the same bytes from different pipes or cores, one of them a write."""


class FlagError(ExecutionError):
    """A flag set twice, waited for without a set, or left set at the end."""


class DeadlockError(ExecutionError):
    """Pipes wait for each other for ever; names both waits."""


class BoundsError(ExecutionError):
    """An access outside its memory or against its alignment."""


class UndefinedReadError(ExecutionError):
    """Bytes that were never written reach a result."""


class InternalError(NpucError):
    """A bug in npuc; carries what a developer needs to reproduce it."""
