"""SPEA2 as its report says it, with lists and loops; and the Pareto frontier by comparing all pairs."""

import math

import numpy as np


def dominates(one, other):
    return one[0] >= other[0] and one[1] >= other[1] and one != other


def frontier(points):
    """Numbers of the points that nothing dominates, the first of equal ones."""
    return [
        i
        for i, point in enumerate(points)
        if not any(dominates(other, point) for other in points) and point not in points[:i]
    ]


def distance_table(points):
    accuracies = [accuracy for accuracy, _ in points]
    logs = [float(np.log(level)) for _, level in points]
    places = []
    for values in (accuracies, logs):
        extent = max(values) - min(values)
        places.append([value / extent if extent > 0 else value for value in values])
    return [[_distance(places, i, j) for j in range(len(points))] for i in range(len(points))]


def _distance(places, i, j):
    across, up = (axis[i] - axis[j] for axis in places)
    return math.sqrt(across * across + up * up)


def fitness(points):
    """F = R + D of each point."""
    strengths = [sum(dominates(one, other) for other in points) for one in points]
    distances = distance_table(points)
    k = int(math.sqrt(len(points)))
    found = []
    for i, point in enumerate(points):
        raw = sum(strengths[j] for j, other in enumerate(points) if dominates(other, point))
        others = sorted(distances[i][j] for j in range(len(points)) if j != i)
        density = 1 / (others[min(k, len(others)) - 1] + 2) if others else 0
        found.append(raw + density)
    return found


def select(points, size):
    """Numbers of the next archive, the fittest first."""
    values = fitness(points)
    order = sorted(range(len(points)), key=lambda i: (values[i], i))
    archive = [i for i in order if values[i] < 1]
    if len(archive) <= size:
        return order[:size]
    distances = distance_table(points)
    while len(archive) > size:
        crowding = {i: sorted(distances[i][j] for j in archive if j != i) for i in archive}
        archive.remove(min(archive, key=lambda i: (crowding[i], -i)))
    return archive


def attained(runs, needed, level):
    """The highest accuracy that at least so many runs attain at a level: tried one by one."""
    candidates = sorted({accuracy for run in runs for accuracy, _ in run}, reverse=True)
    for accuracy in candidates:
        if sum(any(a >= accuracy and l >= level for a, l in run) for run in runs) >= needed:
            return accuracy
    return None
