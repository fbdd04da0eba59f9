"""
Native half of `privateer`; use the functions of the package instead.
"""

from _typeshed import Incomplete, SupportsGetItem
from os import PathLike
from types import CapsuleType
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["VERSION", "AskedTrials", "LearnerProblem", "Problem", "Simulators", "Sweep", "account", "allow_frames", "arrow_stream", "ask", "audit", "best", "books", "cost", "curate", "finish", "init", "ledger", "main", "manifest", "mean_interval", "merge", "people", "plan", "release", "release_table", "rows", "run", "spec_text", "tell", "toml_as_json"]

VERSION: Final[str]

@final
class AskedTrials:
    """
    Trials of a cell whose rewards the caller measures; `privateer.AskTell` documents them.
    """
    def __new__(cls, /, sweep: Sweep, cell: SupportsIndex, first: SupportsIndex, count: SupportsIndex, data: str | PathLike[str] | None = None) -> AskedTrials:
        """
        Makes the trials `first..first + count` of a cell, before their first round.
        """
    def allowed(self, /, place: SupportsIndex) -> Incomplete | None:
        """
        Returns the points that a trial may play in the asked round, int64; `None` where all may be played.
        """
    def ask(self, /) -> Incomplete:
        """
        Returns the point that each trial observes next, int64[trials].
        """
    @property
    def is_over(self, /) -> bool:
        """
        Whether all rounds are told.
        """
    @property
    def ledger(self, /) -> str:
        """
        The ledger of one reward, as JSON.
        """
    @property
    def n_points(self, /) -> int:
        """
        Number of points of the domain.
        """
    def point(self, /, point: SupportsIndex) -> Incomplete | None:
        """
        Returns the coordinates of a point, float64[dimension]; `None` where it has none.
        """
    def recommend(self, /) -> Incomplete:
        """
        Returns the point that each trial recommends, int64[trials]; -1 before its first play.
        """
    @staticmethod
    def restore(sweep: Sweep, cell: SupportsIndex, state: str, data: str | PathLike[str] | None = None) -> AskedTrials:
        """
        Restores trials from a state that `save` returned.
        """
    @property
    def round(self, /) -> int:
        """
        The round of the asked points, from 1.
        """
    def save(self, /) -> str:
        """
        Returns the state, as JSON.
        """
    def tell(self, /, rewards: Incomplete) -> Incomplete:
        """
        Takes the reward of each trial; returns the released rewards, NaN where the mechanism releases sums.
        """

@final
class LearnerProblem:
    """
    What is publicly known before the first sample.
    """
    @property
    def centre(self, /) -> Incomplete:
        """
        The point of the set where the program's learners start, float64[dimension].
        """
    @property
    def dimension(self, /) -> int:
        """
        Dimension of the parameters.
        """
    @property
    def learning_rate(self, /) -> float:
        """
        The learning rate of the spec.
        """
    @property
    def lipschitz(self, /) -> float:
        """
        Bound on the Euclidean length of a gradient; what the spec states where nothing is clipped.
        """
    @property
    def noise(self, /) -> float:
        """
        Root mean square of the Euclidean length of the noise on a prefix sum, at most; 0 without noise.
        """
    def project(self, /, point: Any) -> Incomplete:
        """
        Returns the nearest point of the set, float64[dimension].
        """
    @property
    def radius(self, /) -> float:
        """
        Half of the set's diameter, in the Euclidean norm.
        """
    @property
    def rounds(self, /) -> int:
        """
        Number of samples of a trial.
        """

@final
class Problem:
    """
    What is publicly known about the problem before the first round.
    """
    def __repr__(self, /) -> str: ...
    @property
    def bound(self, /) -> Incomplete:
        """
        Public bound B on the magnitude of the mean reward, float64[trials].
        """
    @property
    def centre(self, /) -> Incomplete:
        """
        Public centre that is subtracted from each reward before it enters sums, float64[trials]; 0 where rewards are released.
        """
    @property
    def clipped_bound(self, /) -> Incomplete:
        """
        Bound on the magnitude of a reward before the mechanism's noise, float64[trials]; NaN where there is none.
        """
    def covariance(self, /) -> Incomplete:
        """
        Prior covariance of the points, float64[n_points, n_points]; computed at each call.
        """
    @property
    def features(self, /) -> Incomplete | None:
        """
        Features of the points whose running sums are released, float64[n_points, n_features], none longer than 1; None otherwise.
        """
    @property
    def least_users(self, /) -> Incomplete:
        """
        Least number of users of a batch whose mean is released, int64[trials]; 1 where rewards arrive one by one.
        """
    def mean_variance(self, /, users: SupportsFloat | SupportsIndex) -> Incomplete:
        """
        Variance of the mean reward of `users` users with the mechanism's noise, float64[trials]; NaN where it is infinite or unknown.
        """
    @property
    def mechanism_variance(self, /) -> Incomplete:
        """
        Worst-case variance that the privacy mechanism adds to a reward, float64[trials]; 0 without one.
        """
    @property
    def n_points(self, /) -> int:
        """
        Number of points of the domain.
        """
    @property
    def noise_variance(self, /) -> Incomplete:
        """
        Variance of the observation noise, float64[trials]; NaN where it is infinite or unknown.
        """
    @property
    def points(self, /) -> Incomplete | None:
        """
        Coordinates of the points, float64[n_points, dimension]; None where the domain has none.
        """
    @property
    def rounds(self, /) -> int:
        """
        Horizon: number of rounds.
        """

@final
class Simulators:
    """
    Several trials of a cell, whose points the caller chooses.
    """
    def __new__(cls, /, sweep: Sweep, cell: SupportsIndex, trials: SupportsGetItem[int, SupportsIndex], data: str | PathLike[str] | None = None) -> Simulators:
        """
        Makes the trials of these numbers of a cell, before their first round.
        """
    @property
    def is_over(self, /) -> bool:
        """
        Whether the horizon is reached.
        """
    @property
    def n_points(self, /) -> int:
        """
        Number of points of the domain.
        """
    def step(self, /, points: Incomplete) -> tuple[Incomplete, Incomplete]:
        """
        Plays a point in each trial; returns the released rewards, NaN where none is released, and the regrets.
        """

@final
class Sweep:
    """
    A spec that was read and checked, with the user's own classes.
    """
    def __new__(cls, /, file: str, text: str, folder: str | PathLike[str] | None, overrides: SupportsGetItem[int, tuple[str, str, str]], items: SupportsGetItem[int, Incomplete]) -> Sweep:
        """
        Reads a spec; `overrides` are (as written up to the value, path, value in TOML).
        """
    @property
    def cells(self, /) -> list[str]:
        """
        Labels of the cells, in canonical order.
        """
    @property
    def hash(self, /) -> str:
        """
        SHA-256 of the resolved spec, in hexadecimal.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the study.
        """
    @property
    def resolved(self, /) -> str:
        """
        The spec after overrides, as canonical TOML.
        """
    @property
    def seed(self, /) -> int:
        """
        Seed of all random streams.
        """
    @property
    def trials(self, /) -> int:
        """
        Number of trials of every cell.
        """

def account(what: Sweep | str, stated: Any, data: str | PathLike[str] | None = None) -> tuple[Any, str | None]:
    """
    Prices a spec, or what has this name; returns the report, and the claims that do not hold.
    """

def allow_frames(folder: str | PathLike[str]) -> None:
    """
    Lets specs read files of the folder in which data frames are files.
    """

def arrow_stream(columns: SupportsGetItem[int, tuple[str, Any]]) -> CapsuleType:
    """
    Returns a capsule `arrow_array_stream` of one batch with these columns, of equal length.
    """

def ask(state: str | PathLike[str], best: bool, choice: Any) -> tuple[Any, list[str]]:
    """
    Returns the row that a session wants observed next, or the best so far, and notes.
    """

def audit(sweep: Sweep, *, backend: str, samples: SupportsIndex, seed: SupportsIndex, confidence: SupportsFloat | SupportsIndex, data: str | PathLike[str] | None = None) -> str:
    """
    Attacks every cell of a sweep that claims privacy; returns the findings as JSON.
    """

def best(stated: Any) -> tuple[Any, list[str]]:
    """
    Asks which policy is best; returns the answer and notes.
    """

def books(state: str | PathLike[str], out: str | PathLike[str], delta: SupportsFloat | SupportsIndex | None = None) -> tuple[Any, list[str]]:
    """
    Writes the books of a deployment as a page or, where the name ends with `.csv`, its answers; returns None and notes.
    """

def cost(stated: Any) -> tuple[Any, list[str]]:
    """
    Asks what privacy costs; returns the answer and notes.
    """

def curate(columns: SupportsGetItem[int, SupportsGetItem[int, SupportsFloat | SupportsIndex]], out: str | PathLike[str], stated: Any) -> tuple[Any, list[str]]:
    """
    Releases columns of numbers, one list for each of the options' names; returns their ledger and notes.
    """

def finish() -> None:
    """
    Ends the run under way, if there is one; called at the exit of the interpreter.
    """

def init(state: str | PathLike[str], spec: Sweep, stated: Any, data: str | PathLike[str] | None = None) -> tuple[Any, list[str]]:
    """
    Starts a session; returns None and notes.
    """

def ledger(files: SupportsGetItem[int, str | PathLike[str]], delta: SupportsFloat | SupportsIndex | None = None) -> tuple[Any, list[str]]:
    """
    Returns what each record has spent by the files of deployments, and notes.
    """

def main(arguments: SupportsGetItem[int, str]) -> int:
    """
    Runs the command line on these arguments, the first of which is the program's name; returns the exit code.
    """

def manifest(folder: str | PathLike[str]) -> str:
    """
    Returns the manifest of a results folder, as JSON.
    """

def mean_interval(sample: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> tuple[float, float, float, float]:
    """
    Returns (mean, standard error, lower end, upper end) of a sample, with the 95 % Student-t interval; NaN where undefined.
    """

def merge(folders: SupportsGetItem[int, str | PathLike[str]], out: str | PathLike[str]) -> tuple[Any, list[str]]:
    """
    Joins the folders of shares into one with a report; returns None and notes.
    """

def people(state: str | PathLike[str], join: SupportsGetItem[int, str], leave: SupportsGetItem[int, str], key: str | PathLike[str] | None = None) -> tuple[Any, list[str]]:
    """
    Takes people in and lets people go; returns how many of each, and notes.
    """

def plan(sweep: Sweep, seconds: SupportsFloat | SupportsIndex, data: str | PathLike[str] | None = None) -> list[tuple[str, float]]:
    """
    Deals the units of a sweep to tasks of about this many seconds of one thread.

    Returns each task's units and seconds.
    """

def release(state: str | PathLike[str], record: tuple[str, SupportsIndex], value: SupportsFloat | SupportsIndex, yes: bool, stated: Any) -> tuple[Any, list[str]]:
    """
    Releases a value of a record; returns the sealed line and notes.
    """

def release_table(state: str | PathLike[str], names: SupportsGetItem[int, str], values: SupportsGetItem[int, SupportsFloat | SupportsIndex | None], round: SupportsIndex, yes: bool, stated: Any) -> tuple[Any, list[str]]:
    """
    Releases the values of a table, None where one is missing; returns the sealed lines, the refused records and notes.
    """

def rows(folder: str | PathLike[str]) -> dict:
    """
    Returns the recorded rows of the finished parts, ordered by cell, trial and round, as a dictionary of columns.

    `point` is -1 where the domain has no numbered points.
    """

def run(sweep: Sweep, out: str | PathLike[str], *, backend: str, threads: SupportsIndex | None = None, batch: SupportsIndex | None = None, data: str | PathLike[str] | None = None, progress: Any | None = None, units: str | None = None) -> list[str]:
    """
    Runs a sweep, or some of its units, into a folder, which may hold finished parts of it. Returns notes.
    """

def spec_text(path: str | PathLike[str]) -> str:
    """
    Reads a spec file.
    """

def tell(state: str | PathLike[str], row: SupportsIndex, reward: SupportsFloat | SupportsIndex | str | PathLike[str], choice: Any, *, yes: bool = False, key: str | PathLike[str] | None = None) -> tuple[Any, list[str]]:
    """
    Tells a session a reward; returns what was released and notes.
    """

def toml_as_json(text: str) -> str:
    """
    Returns a TOML text as JSON.
    """
