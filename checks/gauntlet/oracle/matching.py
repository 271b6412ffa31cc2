"""How many rows are left to everybody when pairs that no assignment of people to rows has are dropped."""

from __future__ import annotations


def rows_left(fits: list[list[int]]) -> list[int]:
    """Count the rows that each person has in some assignment, given who fits each row; row i is person i's.

    Somebody can take a row if those who are pushed out, one after another, can end in the row that became free: if from
    the row's own person a chain of rows leads back.
    """
    n = len(fits)
    takes: list[list[int]] = [[] for _ in range(n)]  # rows that a person fits
    for row, people in enumerate(fits):
        for person in people:
            takes[person].append(row)
    order = _finished(takes)
    part, number = [-1] * n, 0
    for start in reversed(order):
        if part[start] < 0:
            stack, part[start] = [start], number
            while stack:
                for before in fits[stack.pop()]:
                    if part[before] < 0:
                        part[before] = number
                        stack.append(before)
            number += 1
    return [sum(part[row] == part[person] for row in takes[person]) for person in range(n)]


def _finished(takes: list[list[int]]) -> list[int]:
    """Return people in the order in which a walk in depth leaves them."""
    seen, order = [False] * len(takes), []
    for start in range(len(takes)):
        if seen[start]:
            continue
        seen[start] = True
        stack = [(start, iter(takes[start]))]
        while stack:
            person, rest = stack[-1]
            following = next((row for row in rest if not seen[row]), None)
            if following is None:
                order.append(person)
                stack.pop()
            else:
                seen[following] = True
                stack.append((following, iter(takes[following])))
    return order
