"""Releases on disk that publishers made, to be spoiled: what is changed is written canonically, digests included."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import incrowd as ic
from incrowd import io
from incrowd.verify import Verdict
from incrowd.verify.folder import check_folder

N = 160
ILLS = ["angina", "flu", "gout"]
NOTES = ["plain", 'says "hi"', "a,b", "line\nend", "", None, "ünïcode"]


@cache
def people() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in rng.permutation(N)],
            "age": rng.integers(20, 60, N),
            "work": rng.choice(["clerk", "cook", "judge", "nurse"], N),
            "hours": rng.integers(2, 90, N) / 4,
            "note": [NOTES[i] for i in rng.integers(0, len(NOTES), N)],
            "ill": rng.choice(ILLS, N),
        }
    )


METHODS = {
    "mondrian": ic.Mondrian(k=5),
    "nsvdist": ic.NSVDist(k=5, l=1.1),
    "nhaa": ic.NHAA(k=5),
    "dmpd": ic.DMPD(k=5, generations=2, population=6, quasi_sets=[["age"], ["work"]]),
}


@cache
def published(method: str) -> Any:
    schema = ic.Schema(
        quasi={"age": ic.Intervals(), "work": None}, sensitive="ill", other=["hours", "note"], identifiers=["name"]
    )
    return METHODS[method].publish(people(), schema, seed=1)


@dataclass
class OnDisk:
    """A saved release."""

    public: Path

    @classmethod
    def of(cls, method: str, where: Path) -> OnDisk:
        kept = where / "out"
        where.mkdir(exist_ok=True)
        published(method).save(kept)
        return cls(kept)

    @property
    def private(self) -> Path:
        return self.public.with_name(self.public.name + ".private")

    @property
    def manifest(self) -> dict[str, Any]:
        return json.loads((self.public / "manifest.json").read_text())

    def write_manifest(self, manifest: Any) -> None:
        (self.public / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n")

    def tell(self, change: Callable[[dict[str, Any]], Any]) -> None:
        """Change the manifest, and the method that the owner keeps with it."""
        manifest = self.manifest
        change(manifest)
        self.write_manifest(manifest)
        self.own(lambda about: about.update(method=manifest["method"]))

    def own(self, change: Callable[[dict[str, Any]], Any]) -> None:
        """Change the private manifest."""
        path = self.private / "manifest.json"
        about = json.loads(path.read_text())
        change(about)
        path.write_text(json.dumps(about, ensure_ascii=False, indent=1) + "\n")

    def table(self, stem: str = "release") -> pl.DataFrame:
        return pl.read_parquet(self.public / f"{stem}.parquet")

    def write_table(self, frame: pl.DataFrame, stem: str = "release") -> None:
        """Write both files of a table as the format says."""
        io.write_canonical_parquet(frame, self.public / f"{stem}.parquet")
        shown = frame
        if stem == "release":
            quasi = [entry["name"] for entry in self.manifest["quasi"]]
            shown = frame.drop(f"{name}{end}" for name in quasi for end in (".lo", ".hi"))
        io.write_canonical_csv(shown, self.public / f"{stem}.csv")

    def owned(self, stem: str) -> pl.DataFrame:
        return pl.read_parquet(self.private / f"{stem}.parquet")

    def digest(self) -> None:
        """Tell the digests of all files as they are."""

        def digests(folder: Path) -> dict[str, str]:
            files = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.is_symlink()]
            return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

        private = {name: found for name, found in digests(self.private).items() if name != "manifest.json"}
        self.own(lambda about: about.update(public=digests(self.public), private=private))

    def verify(self, **given: Any) -> Verdict:
        return check_folder(self.public, people(), **given)

    def failed(self, **given: Any) -> set[str]:
        return {check.name for check in self.verify(**given).checks if check.ok is False}

    def without_private(self) -> OnDisk:
        shutil.rmtree(self.private)
        return self
