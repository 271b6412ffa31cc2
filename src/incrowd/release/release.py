"""Release: what is handed out. One type with two kinds: generalized rows, and projections."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from incrowd import io
from incrowd.errors import InputError, SchemaError
from incrowd.manifest import Manifest
from incrowd.release.evidence import Private

if TYPE_CHECKING:
    from incrowd.release.overview import Overview
    from incrowd.verify import Verdict
    from incrowd.verify.rows import Frame

_REPORT = "incrowd.report"  # a room above: loaded by name

Levels = dict[str, float | int | None]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Release(ABC):
    """What both kinds of release are; see docs/release-format.md.

    Attributes
    ----------
    manifest
        What everybody may know.
    private
        What the owner keeps; ``None`` in the hands of anybody else.
    kind
        Kind of frames to return: polars, pandas or pyarrow.
    levels
        The levels that verification found when the release was made, and numbers that the method had to add;
        ``None`` for one that was loaded.
    """

    manifest: Manifest
    private: Private | None = None
    kind: str = "polars"
    levels: Levels | None = field(default=None)

    has_own_classifier: ClassVar[bool] = False
    """Whether classifiers are trained by `classifier`, and not from samples or expectations."""

    has_cells: ClassVar[bool] = False
    """Whether its rows have generalized cells, which fit some people and not others."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of released rows."""

    @property
    @abstractmethod
    def quasi(self) -> list[str]:
        """Names of the published quasi-identifiers."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Names of the published columns of the original, the class and the sensitive one among them."""

    @property
    @abstractmethod
    def target(self) -> str | None:
        """Name of the class column."""

    @property
    @abstractmethod
    def features(self) -> tuple[list[str], list[str]]:
        """Names of the columns that a classifier of raw rows may look at: quasi-identifiers, and others."""

    @property
    def class_is_drawn(self) -> bool:
        """Whether a row's class is only known by its distribution."""
        return False

    @abstractmethod
    def class_counts(self) -> tuple[pl.Series, Any]:
        """Return the class values, and how often each occurs as far as it is published."""

    @abstractmethod
    def clean_quasi(self, source: pl.DataFrame) -> list[pl.Series]:
        """Return the quasi-identifiers of other rows, with missing tokens and types as when this release was made."""

    def losses(self, names: Sequence[str], original: pl.DataFrame) -> dict[str, float]:
        """Return several information losses; none where no cell was generalized."""
        del names, original
        return {}

    @abstractmethod
    def coded_tables(self, *, labels: bool = True) -> tuple[pl.DataFrame, ...]:
        """Return the content of the Parquet files."""

    def checked_tables(self) -> Sequence[Frame]:
        """Return the same without labels, for a check."""
        return self.coded_tables(labels=False)

    @abstractmethod
    def written_tables(self) -> tuple[pl.DataFrame, ...]:
        """Return the content of the CSV files."""

    @abstractmethod
    def stems(self) -> list[str]:
        """Return the names of the tables' files, without their suffix."""

    @abstractmethod
    def overview(self) -> Overview:
        """Return what people are told about this release: its columns, what it cost, what it does not protect from."""

    @property
    @abstractmethod
    def types(self) -> dict[str, str]:
        """How to read the coded columns of the original from text."""

    @abstractmethod
    def _what(self) -> str:
        """Say in a few words what is released."""

    def verify(
        self,
        original: Any = None,  # noqa: ANN401
        *,
        promises_only: bool = False,
        within: Any = None,  # noqa: ANN401
    ) -> Verdict:
        """Check every promise by code that shares nothing with the method; with the original, all of it.

        `promises_only` leaves out what no promise depends on: how many released rows fit each original. With a
        `within` (an `incrowd.Population`), what that asks for is checked as well.
        """
        from incrowd.verify.core import check  # noqa: PLC0415
        from incrowd.verify.population import Within  # noqa: PLC0415

        asked = within
        within = None if asked is None else Within(io.to_polars(asked.people), asked.k_map, asked.presence)

        return check(
            self.manifest.to_dict(),
            self.checked_tables(),
            original=None if original is None else io.to_polars(original),
            private=None if self.private is None else self.private.files(self.quasi),
            promises_only=promises_only,
            within=within,
        )

    def report(
        self,
        original: Any = None,  # noqa: ANN401
        *,
        test: Any = None,  # noqa: ANN401
        earlier: Sequence[Any] = (),
        attacks: Sequence[str] | None = None,
        attack: bool = True,
        evaluate: bool = True,
        for_owner: bool = False,
    ) -> Any:  # noqa: ANN401
        """Report on this release for people who must decide about it: a page, plain data, or text.

        Without `for_owner` it contains nothing that the release does not, and may be handed out with it.

        Parameters
        ----------
        original
            The table that the release was made from: then it is verified against it, attacked, and classifiers are
            compared with it.
        test
            Rows of other people, to test classifiers with.
        earlier
            Other releases about the same people, for the attacks that combine several.
        attacks
            Names of attacks; by default all that do not take minutes.
        attack, evaluate
            Whether to attack the release, and to measure what classifiers keep.
        for_owner
            Tell exact results and the rows at risk: such a report is not to be handed out.
        """
        room = import_module(_REPORT)
        asked = room.Asked(for_owner=for_owner, attack=attack, evaluate=evaluate, attacks=attacks)
        return room.report(self, original, asked, test=test, earlier=earlier)

    def save(self, path: str | Path, *, replace: bool = False) -> None:
        """Write the release folder, and beside it the private one, all of it or nothing; what was written is checked.

        The files are read back and verified under a temporary name; only then do they get their own.

        Parameters
        ----------
        path
            The folder to write.
        replace
            Replace a release that is there: it stays until the new one is verified, then they change places.
        """
        from incrowd.release.folder import save  # noqa: PLC0415

        save(self, Path(path), replace=replace)

    def save_to(
        self, output: str | Path, *, private: str | Path | None = None, existing: str = "refuse", dataset: bool = False
    ) -> None:
        """Write the release to a table of a database, a file or a Parquet dataset; see docs/release-format.md.

        Parameters
        ----------
        output
            A URL with ``#table``, a file whose suffix tells its format, or a folder.
        private
            The folder for what the owner keeps; by default the output's name with ``.private``, of a database in the
            working folder.
        existing
            What to do if a database has the table: ``refuse``, ``append`` or ``replace``.
        dataset
            Whether the folder is to be a Parquet dataset.
        """
        from incrowd.release.elsewhere import save_to  # noqa: PLC0415

        kept = None if private is None else Path(private)
        save_to(self, io.place_of(output, dataset=dataset), private=kept, existing=existing)

    @classmethod
    def load(cls, path: str | Path) -> Any:  # noqa: ANN401
        """Read a release of either kind, wherever it lives; the private part too, if it lies beside it."""
        from incrowd.release.elsewhere import load_from  # noqa: PLC0415

        found = load_from(path)
        if not isinstance(found, cls):
            fact = f"'{path}' holds a {type(found).__name__}, not a {cls.__name__}"
            raise InputError(fact, "load it with Release.load")
        return found

    @classmethod
    def expect(cls, given: object, otherwise: str) -> None:
        """Refuse what is no release of this kind."""
        if not isinstance(given, cls):
            fact = f"Expected a {cls.__name__}, got {type(given).__name__}"
            path = f"read it first: Release.load({str(given)!r})" if isinstance(given, str | Path) else None
            raise InputError(fact, path or f"give what publish or Release.load returned; {otherwise}")

    def require_columns(self, frame: pl.DataFrame, names: list[str]) -> None:
        """Refuse a table that lacks some columns."""
        lacking = [name for name in names if name not in frame.columns]
        if lacking:
            fact = f"The table has no column {', '.join(map(repr, lacking))}"
            raise SchemaError(fact, f"its columns are {', '.join(map(repr, frame.columns))}")

    def __repr__(self) -> str:
        rows, method = self.manifest.rows, self.manifest.method.name
        what = f"{method}: {self.manifest.promises}; {self._what()}{rows.released} of {rows.input} rows"
        return f"{type(self).__name__}({what})"

    def _repr_html_(self) -> str:
        heads = "".join(table.head(10)._repr_html_() for table in self.written_tables())
        return f"<p>{html.escape(repr(self))}</p>{heads}"
