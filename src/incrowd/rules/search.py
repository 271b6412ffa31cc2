"""The largest set of rules that is safe, among all that were mined.

Search. Rules with the same tests go together. Branch and bound finds the largest safe set, among equally large ones the
one with the best rule that the others lack; when it takes too long (`AnonymousRules.exact` is false), the largest of
several greedy sets is taken, improved by taking one group of rules out and others in. Nothing that was dropped can be
added to the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from incrowd.rules.itemsets import Progress
from incrowd.rules.spans import Asks, Crowd, State

_EXACT_WORK = 60_000_000  # people looked at before branch and bound gives up: a second or two
_SWAP_WORK = 60_000_000


@dataclass(frozen=True)
class Group:
    """Rules that ask the same; they are safe together or not at all."""

    asks: Asks
    rules: tuple[int, ...]


def grouped(asked: Sequence[Asks]) -> list[Group]:
    """Put rules that ask the same together."""
    members: dict[Asks, list[int]] = {}
    for i, asks in enumerate(asked):
        members.setdefault(asks, []).append(i)
    return [Group(asks, tuple(rules)) for asks, rules in members.items()]


def largest(crowd: Crowd, groups: Sequence[Group], report: Progress) -> tuple[list[int], bool]:
    """Choose groups with as many rules as possible; also say whether that is proven."""
    alone = [crowd.smallest(crowd.divided(crowd.start, group.asks)) for group in groups]
    able = [number for number, smallest in enumerate(alone) if smallest >= crowd.k]
    if crowd.safe(groups[number].asks for number in able):
        return able, True
    orders: list[Callable[[int], tuple[int, ...]]] = [
        lambda number: (number,),
        lambda number: (-len(groups[number].rules), number),
        lambda number: (-alone[number], len(groups[number].asks.tests), number),
        lambda number: (len(groups[number].asks.tests), -len(groups[number].rules), -alone[number], number),
    ]
    best: list[int] = []
    for turn, order in enumerate(orders):
        found = _greedy(crowd, groups, sorted(able, key=order))
        best = max(best, found, key=lambda numbers: _n_rules(groups, numbers))
        report("choose", turn + 1, len(orders) + 2)
    best = _swapped(crowd, groups, best, able)
    report("choose", len(orders) + 1, len(orders) + 2)
    proven = _branch_and_bound(crowd, groups, able, _n_rules(groups, best))
    report("choose", len(orders) + 2, len(orders) + 2)
    return (sorted(best), False) if proven is None else (proven, True)


def _n_rules(groups: Sequence[Group], numbers: Iterable[int]) -> int:
    return sum(len(groups[number].rules) for number in numbers)


def _greedy(crowd: Crowd, groups: Sequence[Group], order: Iterable[int], start: Sequence[int] = ()) -> list[int]:
    """Take each group that can join those taken before it."""
    state, taken = crowd.start, []
    for number in [*start, *order]:
        after = crowd.joined(state, groups[number].asks)
        if after is not None:
            state = after
            taken.append(number)
    return taken


def _swapped(crowd: Crowd, groups: Sequence[Group], taken: list[int], able: Sequence[int]) -> list[int]:
    """Take one group out, and others in, as long as that gives more rules."""
    limit = crowd.work + _SWAP_WORK
    improved = True
    while improved:
        improved = False
        for out in sorted(taken, key=lambda number: (len(groups[number].rules), -number)):
            if crowd.work > limit:
                return taken
            rest = [number for number in taken if number != out]
            others = [number for number in able if number not in taken]
            others.sort(key=lambda number: (-len(groups[number].rules), number))
            found = _greedy(crowd, groups, [*others, out], rest)
            if _n_rules(groups, found) > _n_rules(groups, taken):
                taken, improved = found, True
                break
    return taken


def _branch_and_bound(crowd: Crowd, groups: Sequence[Group], able: Sequence[int], least: int) -> list[int] | None:
    """Find the largest safe set, which has at least `least` rules; None when it takes too long.

    Groups are taken before they are left, so that among the largest sets the first in the order of rules is found.
    """
    limit = crowd.work + _EXACT_WORK
    best: list[int] | None = None
    most = least - 1
    stack: list[tuple[State, list[int], list[int]]] = [(crowd.start, [], list(able))]
    while stack:
        state, taken, open_ = stack.pop()
        if _n_rules(groups, taken) + _n_rules(groups, open_) <= most:
            continue
        if not open_:
            best, most = taken, _n_rules(groups, taken)
            continue
        if crowd.work > limit:
            return None
        first, rest = open_[0], open_[1:]
        stack.append((state, taken, rest))
        after = crowd.divided(state, groups[first].asks)
        # What cannot join now never can: every part of a safe set is safe.
        rest = [number for number in rest if crowd.joined(after, groups[number].asks) is not None]
        stack.append((after, [*taken, first], rest))
    return best
