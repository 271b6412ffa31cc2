"""What an engine returns: a release that was written and verified, and that nobody had in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from incrowd import io
from incrowd.engines.choosing import Shown
from incrowd.manifest import RowsManifest
from incrowd.release import Release
from incrowd.release.overview import Overview, of_rows
from incrowd.verify import Verdict
from incrowd.verify.streamed import verify_dataset


@dataclass(frozen=True)
class DatasetRelease:
    """A release that lies in a Parquet dataset.

    Attributes
    ----------
    path, private
        The dataset, and the folder of what the owner keeps.
    manifest
        What everybody may know.
    levels
        The levels that verification found.
    overview
        What to show people about it.
    """

    path: Path
    private: Path
    manifest: RowsManifest
    levels: dict[str, float | int | None] = field(repr=False)
    overview: Overview = field(repr=False)

    @property
    def n_rows(self) -> int:
        """Number of released rows."""
        return self.manifest.rows.released

    def verify(self, original: Any = None) -> Verdict:  # noqa: ANN401
        """Check it again, batch by batch."""
        if io.is_spark_frame(original):
            from incrowd.engines.spark import verify_spark  # noqa: PLC0415 - which makes such releases

            return verify_spark(self.path, original)
        return verify_dataset(self.path, original)

    def load(self) -> Any:  # noqa: ANN401
        """Read all of it into memory."""
        return Release.load(self.path)

    def __repr__(self) -> str:
        rows, method = self.manifest.rows, self.manifest.method.name
        return f"DatasetRelease({method}: {self.manifest.promises}; {rows.released} of {rows.input} rows)"


def released(shown: Shown, path: Path, private: Path, levels: dict[str, float | int | None]) -> DatasetRelease:
    """Return what was written and verified."""
    overview = of_rows(replace(shown.release, levels=levels), shown.counts)
    return DatasetRelease(path, private, shown.release.manifest, levels, overview)
