"""Sessions: one policy whose rewards are observed elsewhere."""

import json
import os
import tempfile
from dataclasses import dataclass
from datetime import datetime
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


@dataclass(frozen=True)
class TableRelease:
    """What became of the values of a table."""

    answers: list[Answer]
    """One answer for each value that was released, in the order of the table."""
    repeated: int
    """How many of them had been released before: they spend nothing again."""
    refused: list[dict[str, Any]]
    """`line`, `record` and `why` of each record of which nothing was released."""


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
    per
        Renews the budget each `day`, `week`, `month` or `year` (UTC): it holds for the answers of one of them.
    odometer
        An odometer that is shared with other sessions about the same records.
    data
        Folder of the points file.
    key
        File with the key that seals answers; with it, those that others have sealed are refused.
    session
        Name of the session, where its file holds several.
    who
        Who tells rewards, for the books.
    anchor
        File on another disk that keeps the newest answer of a new state file: older copies are refused by that.

    Used in a `with` statement, a throwaway session is removed at the end. No file is open between two calls, so that sessions work in
    threads and after a fork.
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
        per: str | None = None,
        odometer: "str | os.PathLike[str] | None" = None,
        data: "str | os.PathLike[str] | None" = None,
        allow_large_delta: bool = False,
        key: "str | os.PathLike[str] | None" = None,
        session: str | None = None,
        who: str | None = None,
        anchor: "str | os.PathLike[str] | None" = None,
    ) -> None:
        if throwaway == (state is not None):
            problem = "state is stated, and throwaway is True" if throwaway else "there is no state file, so the ledger would end with the object"
            raise SpecError(f"{problem}\nexpected `state`, a file that keeps what each record has spent, or `throwaway=True` for a trial of no consequence")
        self._temporary = tempfile.TemporaryDirectory(prefix="privateer-") if state is None else None
        self.state = Path(self._temporary.name) / "session" if self._temporary else Path(state or "")
        self._choice = stated(session=session, data=data, odometer=odometer, occasion=stated(who=who))
        self._key = None if key is None else Path(key)
        self._takes_released = form == "data-holder"
        if spec is None:
            return
        terms = stated(budget=budget, filter=filter, per=per, odometer=odometer, anchor=anchor)
        options = {"form": form, "column": "reward", "allow_large_delta": allow_large_delta, "budget": terms, **stated(session=session)}
        heard(_native.init(self.state, spec._native(), options, None if data is None else Path(data)))

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def ask(self) -> Asked:
        """Returns the row to observe next; the same one until its reward is told.

        Raises
        ------
        SpecError
            After the last round.
        """
        found = heard(_native.ask(self.state, False, self._choice))
        return Asked(found["row"], found["round"])

    def tell(self, row: int, reward: "float | str | os.PathLike[str] | Answer", *, yes: bool = False) -> dict[str, Any]:
        """Tells the reward that was observed at the asked row.

        Parameters
        ----------
        row
            The row that was asked for.
        reward
            The reward, a number in its unit; with `form="data-holder"` what `Deployment.release` returned, or a file with its `text`.
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
            raise SpecError("the session takes released values (what was told is not shown)\nexpected what `Deployment.release` returned, or a file with its `text`")
        return heard(_native.tell(self.state, row, told, self._choice, yes=yes, key=self._key))

    def best(self) -> int:
        """Returns the best row so far, by posterior mean."""
        return heard(_native.ask(self.state, True, self._choice))["row"]

    def ledger(self) -> dict[str, Any]:
        """Returns what each record has spent."""
        return heard(_native.ledger([self.state]))


class Deployment:
    """The data holder's file: releases values with exact noise of the operating system, and counts what each record has spent.

    A value is released once for each record and round; asked again, the same answer is returned. No file is open between two calls, so
    that deployments work in threads, in several programs at once and after a fork.

    Parameters
    ----------
    state
        The deployment; the first value makes it, or `privateer odometer`.
    mechanism
        `laplace`, `duchi`, `piecewise`, `hybrid`, `randomised-response`, `warped-piecewise` or `gaussian`; stated once, as epsilon and clip.
    epsilon
        Privacy loss of one answer.
    clip
        Public range to which values are clipped, never taken from the values themselves.
    delta
        Failure probability of one answer, for `gaussian`.
    column
        What the values measure: answers about one record add up over all columns.
    budget
        Most that one record may spend, as in `epsilon=4,delta=1e-6`: an answer that would exceed it is refused.
    filter
        How losses about one record add up: `sum`, `zcdp` or `gaussian-dp`.
    per
        Renews the budget each `day`, `week`, `month` or `year` (UTC): it holds for the answers of one of them, and those of several
        add up.
    odometer
        An odometer that is shared with other sessions about the same records.
    anchor
        File on another disk that keeps the newest answer of a new deployment: older copies are refused by that.
    ids
        True names the records of a new deployment by ids instead of rows.
    id_key
        File with a key: the deployment keeps keyed hashes of ids alone.
    key
        File with the key that seals answers, which whoever takes them has too.
    who
        Who releases, for the books.
    """

    def __init__(
        self,
        state: "str | os.PathLike[str]",
        *,
        mechanism: str | None = None,
        epsilon: float | None = None,
        clip: tuple[float, float] | None = None,
        delta: float | None = None,
        column: str | None = None,
        budget: str | None = None,
        filter: str | None = None,
        per: str | None = None,
        odometer: "str | os.PathLike[str] | None" = None,
        anchor: "str | os.PathLike[str] | None" = None,
        ids: bool = False,
        id_key: "str | os.PathLike[str] | None" = None,
        allow_large_delta: bool = False,
        key: "str | os.PathLike[str] | None" = None,
        who: str | None = None,
    ) -> None:
        self.state = Path(state)
        self._id_key = None if id_key is None else Path(id_key)
        terms = stated(budget=budget, filter=filter, per=per, odometer=odometer, anchor=anchor)
        options = stated(mechanism=mechanism, epsilon=epsilon, delta=delta, clip=clip, column=column, key=key, id_key=id_key)
        self._options = {**options, "allow_large_delta": allow_large_delta, "ids": ids or id_key is not None, "budget": terms}
        self._who = who

    def __enter__(self) -> "Deployment":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _stated(self, time: "datetime | None", join: bool = False) -> dict[str, Any]:
        seconds = None if time is None else int(time.timestamp())
        return {**self._options, "join": join, "occasion": stated(time=seconds, who=self._who)}

    def release(self, record: "int | str", value: float, *, round: int = 1, yes: bool = False, time: "datetime | None" = None) -> Answer:
        """Releases the value of a record for the round of a session that asks for it.

        Parameters
        ----------
        record, value, round
            The record (its row, from 0, or its id), its value and the round that `Session.ask` names.
        yes
            Takes a value that lies far outside of the clip, which is refused else: it spends as any other.
        time
            When the answer is made, never before the newest one; now if absent.

        Returns
        -------
        Answer
            The answer, for `Session.tell` of whoever asked; send its `text`, whose seal shows every change.

        Raises
        ------
        BudgetError
            Where the record's budget is spent, or the person has left.
        """
        stated = self._stated(time)
        return Answer(heard(_native.release(self.state, (str(record), round), number(value, "value"), yes, stated)))

    def release_table(
        self,
        frame: Any,
        value: str,
        record: str | None = None,
        *,
        round: int,
        join: bool = False,
        yes: bool = False,
        time: "datetime | None" = None,
    ) -> TableRelease:
        """Releases a column of a table in one transaction; records that are refused are listed, and nothing else is lost.

        Parameters
        ----------
        frame
            A DataFrame of pandas or polars, or a mapping of columns.
        value, record
            Name of the column that is released, and of the one that names the records; without it record i is row i, from 0.
        round
            The round or the day of the table: the same table in the same round gives the same answers and spends nothing.
        join
            Takes in people whose ids are new.

        Returns
        -------
        TableRelease
        """
        values = [None if cell is None or cell != cell else number(cell, "value") for cell in list(frame[value])]
        names = [str(row) for row in range(len(values))] if record is None else [str(name) for name in list(frame[record])]
        found = heard(_native.release_table(self.state, names, values, round, yes, self._stated(time, join)))
        return TableRelease([Answer(text) for text in found["answers"]], found["repeated"], found["refused"])

    def join(self, *ids: str) -> int:
        """Takes people in, or back; returns how many are new."""
        return heard(_native.people(self.state, list(ids), [], self._id_key))[0]

    def leave(self, *ids: str) -> int:
        """Lets people go: nothing is released of them any more, and what they have spent stays; returns how many went."""
        return heard(_native.people(self.state, [], list(ids), self._id_key))[1]

    def ledger(self, delta: float | None = None) -> dict[str, Any]:
        """Returns what each record has spent, read at a delta; at that of the budget if absent."""
        return heard(_native.ledger([self.state], delta))

    def books(self, out: "str | os.PathLike[str]", delta: float | None = None) -> None:
        """Writes the books for an auditor: one page, or all answers where the name ends with `.csv`. They name people."""
        heard(_native.books(self.state, Path(out), delta))
