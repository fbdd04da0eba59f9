"""Sessions: one policy whose rewards are observed elsewhere."""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _native
from .accounting import heard, stated
from .errors import SpecError
from .spec import Spec


class Answer(dict[str, Any]):
    """A released value with what it states.

    Attributes
    ----------
    text : str
        The sealed line: what may be sent or stored, byte for byte.
    """

    def __init__(self, text: str) -> None:
        super().__init__(json.loads(text))
        self.text = text


def number(value: Any, what: str) -> float:
    """Returns a raw value as a number; a message never repeats it."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise SpecError(f"the {what} is not a number (it is not shown)\nexpected a finite number") from None


@dataclass(frozen=True)
class Asked:
    """The row that a session wants observed next."""

    row: int
    """Number of the row in the file of points, from 0."""
    round: int
    """Number of the round, from 1."""


class Session:
    """One policy over a file of points, driven by `ask` and `tell`; a told reward gets exact noise before the policy sees it.

    The state is a file, the same that the command line reads, so a session survives the program.

    Parameters
    ----------
    spec
        A spec with one policy over `points-table`; None continues the session of an existing state file.
    state
        The state file; it holds what each record has spent.
    throwaway
        True in place of a state file: the session and its ledger end with the object.
    form
        `trusted-curator`: `tell` takes raw rewards. `data-holder`: `tell` takes files that `privateer release` wrote.
    budget
        Most that one record may spend, as in `epsilon=4,delta=1e-6`: an answer that would exceed it is refused.
    filter
        How losses about one record add up: `sum`, `zcdp` or `gaussian-dp`.
    odometer
        An odometer that is shared with other sessions about the same records.
    data
        Folder of the points file.
    key
        File with the key that seals answers; with it, those that others have sealed are refused.
    """

    def __init__(
        self,
        spec: Spec | None = None,
        state: "str | os.PathLike[str] | None" = None,
        *,
        throwaway: bool = False,
        form: str = "trusted-curator",
        budget: str | None = None,
        filter: str | None = None,
        odometer: "str | os.PathLike[str] | None" = None,
        data: "str | os.PathLike[str] | None" = None,
        allow_large_delta: bool = False,
        key: "str | os.PathLike[str] | None" = None,
    ) -> None:
        if throwaway == (state is not None):
            problem = "state is stated, and throwaway is True" if throwaway else "there is no state file, so the ledger would end with the object"
            raise SpecError(f"{problem}\nexpected `state`, a file that keeps what each record has spent, or `throwaway=True` for a trial of no consequence")
        self._temporary = tempfile.TemporaryDirectory(prefix="privateer-") if state is None else None
        self.state = Path(self._temporary.name) / "session" if self._temporary else Path(state or "")
        self._moved = stated(data=data, odometer=odometer)
        self._key = None if key is None else Path(key)
        self._takes_released = form == "data-holder"
        if spec is None:
            return
        data = data if data is not None or "PRIVATEER_DATA" in os.environ else spec.folder
        terms = stated(budget=budget, filter=filter, odometer=odometer)
        options = {"form": form, "column": "reward", "allow_large_delta": allow_large_delta, "budget": terms}
        heard(_native.init(self.state, spec._native(), options, None if data is None else Path(data)))

    def ask(self) -> Asked:
        """Returns the row to observe next; the same one until its reward is told.

        Raises
        ------
        SpecError
            After the last round.
        """
        found = heard(_native.ask(self.state, False, self._moved))
        return Asked(found["row"], found["round"])

    def tell(self, row: int, reward: "float | str | os.PathLike[str] | Answer", *, yes: bool = False) -> dict[str, Any]:
        """Tells the reward that was observed at the asked row.

        Parameters
        ----------
        row
            The row that was asked for.
        reward
            The reward, a number in its unit; with `form="data-holder"` what `Releases.release` returned, or a file with its `text`.
        yes
            Takes a reward that lies far outside of the clip, which is refused else: what it spends cannot be taken back.

        Returns
        -------
        dict
            What was released: `released` is the reward that the policy has learned.
        """
        told: float | str | Path
        if not self._takes_released:
            told = number(reward, "reward")
        elif isinstance(reward, Answer):
            told = reward.text
        elif isinstance(reward, (str, os.PathLike)):
            told = Path(reward)
        else:
            raise SpecError("the session takes released values (what was told is not shown)\nexpected what `Releases.release` returned, or a file with its `text`")
        return heard(_native.tell(self.state, row, told, self._moved, yes=yes, key=self._key))

    def best(self) -> int:
        """Returns the best row so far, by posterior mean."""
        return heard(_native.ask(self.state, True, self._moved))["row"]

    def ledger(self) -> dict[str, Any]:
        """Returns what each record has spent."""
        return heard(_native.ledger([self.state]))


class Releases:
    """The data holder's side of a session of the form `data-holder`: releases values with exact noise of the operating system.

    A value is released once for each record and round; asked again, the same answer is returned. The state file holds what
    was released and what each record has spent.

    Parameters
    ----------
    state
        The state file; the first value makes it.
    mechanism
        `laplace`, `duchi`, `piecewise`, `hybrid` or `gaussian`.
    epsilon
        Privacy loss of one answer.
    clip
        Public range to which values are clipped, never taken from the values themselves.
    delta
        Failure probability of one answer, for `gaussian`.
    budget
        Most that one record may spend, as in `epsilon=4,delta=1e-6`: an answer that would exceed it is refused.
    filter
        How losses about one record add up: `sum`, `zcdp` or `gaussian-dp`.
    odometer
        An odometer that is shared with other sessions about the same records.
    key
        File with the key that seals answers, which whoever takes them has too.
    """

    def __init__(
        self,
        state: "str | os.PathLike[str]",
        *,
        mechanism: str,
        epsilon: float,
        clip: tuple[float, float],
        delta: float | None = None,
        budget: str | None = None,
        filter: str | None = None,
        odometer: "str | os.PathLike[str] | None" = None,
        allow_large_delta: bool = False,
        key: "str | os.PathLike[str] | None" = None,
    ) -> None:
        self.state = Path(state)
        terms = stated(budget=budget, filter=filter, odometer=odometer)
        options = stated(mechanism=mechanism, epsilon=epsilon, delta=delta, clip=clip, allow_large_delta=allow_large_delta, key=key)
        self._options = {**options, "budget": terms}

    def release(self, row: int, value: float, *, round: int = 1, yes: bool = False) -> Answer:
        """Releases the value of a record for the round of a session that asks for it.

        Parameters
        ----------
        row, value, round
            The record, its value and the round that `Session.ask` names.
        yes
            Takes a value that lies far outside of the clip, which is refused else: it spends as any other.

        Returns
        -------
        Answer
            The answer, for `Session.tell` of whoever asked; send its `text`, whose seal shows every change.

        Raises
        ------
        CheckError
            Where the record's budget is spent.
        """
        return Answer(heard(_native.release(self.state, (row, round), number(value, "value"), yes, self._options)))

    def ledger(self) -> dict[str, Any]:
        """Returns what each record has spent."""
        return heard(_native.ledger([self.state]))
