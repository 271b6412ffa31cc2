"""What people read who must decide about a release: one report of everything that is known about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd import io
from incrowd.errors import ParameterError
from incrowd.io import Reading
from incrowd.runs import Run
from incrowd.workflow.evaluating import evaluate as measure_classifiers
from incrowd.workflow.judging import attack as run_attacks
from incrowd.workflow.judging import verify
from incrowd.workflow.sources import Source, read_source, working

if TYPE_CHECKING:
    from incrowd.attacks import AttackReport
    from incrowd.evaluate import Evaluation
    from incrowd.report import Measures, Report
    from incrowd.verify import Verdict


def report(
    release: str | Path,
    original: Source = None,
    *,
    test: Source = None,
    earlier: Sequence[str | Path] = (),
    attacks: Sequence[str] | None = None,
    attack: bool = True,
    evaluate: bool = True,
    for_owner: bool = False,
    output: str | Path | None = None,
    pdf: str | Path | None = None,
    replace: bool = False,
    reading: Reading | None = None,
    run: Run | None = None,
) -> Report:
    """Report on a release; see `incrowd.Release.report`.

    Parameters
    ----------
    release
        Where it is: a folder, a file, a dataset, or a table of a database.
    original
        The table that it was made from.
    output, pdf
        Files to write: the page, and the page printed by Chromium.
    replace
        Replace files that exist.
    reading
        How the original is to be read.
    """
    from incrowd.release.elsewhere import digests
    from incrowd.report import Asked, Report, find_chromium, measure

    if output is not None and Path(output).suffix.lower() == ".pdf":
        fact = f"'{output}' is named as a PDF, and the output is a page of HTML"
        raise ParameterError(fact, f"give pdf='{output}', or a name such as {Path(output).with_suffix('.html')}")
    for path in (output, pdf):
        if path is not None and not replace:
            io.refuse_existing(Path(path))
    if pdf is not None:
        find_chromium()
    with working(run) as work:
        work("checking", 0, 1)
        verdict = verify(release, original, reading=reading, run=work)
        work("checking", 1, 1)
        loaded = _load(release, verdict)
        asked = Asked(for_owner, attack, evaluate, attacks, digests(release))
        measures = _measures(release, loaded, verdict, original, test, earlier, reading or Reading(), work)
        found = Report(measure(loaded, asked, measures))
        work("writing", 0, 1)
        if output is not None:
            found.save(output)
        if pdf is not None:
            found.save_pdf(pdf)
        work.tell("writing", 1, 1)
    return found


def _load(release: str | Path, verdict: Verdict) -> Any:  # noqa: ANN401
    """Read a release; one whose check failed may not even be readable, and then that is the answer."""
    from incrowd.release import Release

    try:
        return Release.load(release)
    except Exception:
        verdict.raise_for_violations()
        raise


def _measures(
    place: str | Path,
    release: Any,  # noqa: ANN401
    verdict: Verdict,
    original: Source,
    test: Source,
    earlier: Sequence[str | Path],
    reading: Reading,
    run: Run,
) -> Measures:
    """Return how to measure a release: each through the function of its own, which reads what it needs."""
    from incrowd.attacks.scene import schema_of
    from incrowd.report import Measures

    missing = release.manifest.missing
    how = Reading(types=release.types, missing_tokens=tuple(missing.tokens), missing_codes=missing.codes)
    how = how.with_settings(reading)
    made = release.manifest.method

    def frame() -> Any:  # noqa: ANN401
        return None if original is None else read_source(original, how, run=run)

    def attack(names: list[str]) -> AttackReport:
        return run_attacks(release, original, attacks=names, earlier=earlier, reading=reading, run=run)

    def by_test(settings: dict[str, Any]) -> Evaluation:
        return measure_classifiers(place, test=test, original=frame(), run=run, **settings)

    def by_folds(settings: dict[str, Any]) -> Evaluation:
        given = {"schema": schema_of(release), "method": made.name, "parameters": made.parameters}
        return measure_classifiers(frame(), **given, run=run, **settings)

    has_original = original is not None
    return Measures(
        verify=lambda: verdict,
        attack=attack if has_original else None,
        by_test=by_test if test is not None else None,
        by_folds=by_folds if has_original else None,
    )
