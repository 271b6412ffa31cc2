"""What a release does not protect from, in plain words."""

from __future__ import annotations

from incrowd.manifest import JOINED, OVERLAPPING, Manifest

_ROLES = (
    "The promise is about the columns that the owner named as those by which people could be recognized. Whether that "
    "list is complete is the owner's judgement; no check can tell."
)
_OTHERS = (
    "Columns that are published as they came are not protected: somebody who knows such a value of a person may find "
    "the row."
)
_ALONE = (
    "The promise is about this release alone. Somebody who has two releases about the same people, or a release from "
    "before and from after one person came or left, can compare them. Publish again only when at least as many people "
    "as the smallest crowd came or left, and keep a ledger of releases."
)
_PAIRS = (
    "The crowds of joined tables count pairs of rows, not people: fewer people may be behind them. Attacks on such "
    "tables have not been tried, because there are none in this version."
)
_OVERLAP = (
    "Cells of different rows overlap here. Somebody who knows everybody's values and matches people and rows may find "
    "a person's row more often than once in k times; what the row then tells is about a crowd."
)
_LINKING = {OVERLAPPING: (_OVERLAP,), JOINED: (_PAIRS,)}
_PATTERNS = (
    "A useful table shows patterns, such as which age goes with which value. Whoever learns such a pattern can guess "
    "about anybody, also about people who are not in the table. That is what the table is for, and no promise is "
    "against it."
)
_UNPROTECTED = (
    "Crowds alone do not hide '{name}': where all or most people of a crowd share a value, it is known, or nearly "
    "known, of each of them. A promise about that is called l, t or alpha."
)
_SHARE = "The limit on '{name}' is a limit on a share: a guess may be right that often. It is no secrecy."
_TOGETHER = (
    "Each sensitive column is protected by itself. Somebody who knows one of them about a person may learn another, "
    "because rows show which values go together, unless the promise says that it holds for such a person too."
)
_REVIEW = (
    "It is evidence for a review by people. It is no certificate, it gives no legal advice, and it makes no statement "
    "about compliance with any law."
)
_TRIED = (
    "The attacks are those that this version knows, with the knowledge that is named beside each; others are possible."
)


def limits_of(manifest: Manifest) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return headings with sentences: singling out, linkability, inference, and what a report cannot say."""
    named = [_UNPROTECTED if manifest.belief_about(name) >= 1 else _SHARE for name in manifest.secret_names]
    values = [limit.format(name=name) for limit, name in zip(named, manifest.secret_names, strict=True)]
    if len(values) > 1 and not any(promise.others_known for promise in manifest.guarantees):
        values.append(_TOGETHER)
    return (
        ("Singling out", (_ROLES, _OTHERS) if manifest.untouched else (_ROLES,)),
        ("Linkability", (_ALONE, *_LINKING.get(manifest.crowds, ()))),
        ("Inference", (*values, _PATTERNS)),
        ("What this report is", (_REVIEW, _TRIED)),
    )
