"""Mondrian end to end in memory, against one polars group-by of the same columns: time, profile, memory, growth."""

import cProfile
import pstats

import incrowd as ic
from benchmarks.measure import QUASI, complete_adult, peak_memory, resampled, side_by_side
from incrowd.coding import Table
from incrowd.datasets import adult_schema

K = 50


def main(_arguments):
    schema, method = adult_schema(), ic.Mondrian(k=K)
    print(f"Mondrian, k = {K}, {len(QUASI)} quasi-identifiers; seconds are medians of 7 turns")
    print(f"{'rows':>9} {'group-by':>9} {'code':>7} {'cut':>7} {'verify':>7} {'all':>7} {'all / group-by':>15}")
    for frame in (complete_adult(), resampled(100_000), resampled(1_000_000)):
        release = method.publish(frame, schema)
        table = Table.encode(frame, schema)
        seconds = side_by_side(
            {
                "group-by": lambda f=frame: f.group_by(QUASI).len(),
                "code": lambda f=frame: Table.encode(f, schema),
                "cut": lambda t=table: method.choose(t, None, lambda *_: None),
                "verify": lambda f=frame, r=release: r.verify(f, promises_only=True),
                "all": lambda f=frame: method.publish(f, schema),
            }
        )
        ratio = seconds["all"] / seconds["group-by"]
        columns = " ".join(f"{seconds[name]:7.3f}" for name in ("code", "cut", "verify", "all"))
        print(f"{frame.height:>9} {seconds['group-by']:9.4f} {columns} {ratio:15.1f}")
        if frame.height == 1_000_000:
            full = side_by_side({"full": lambda f=frame, r=release: r.verify(f)}, repeats=3)["full"]
            print(f"\nverify with everything counted: {full:.2f} s (limit 2 s)")
            print(f"publish: {seconds['all']:.2f} s (limit 5 s)")
            profile(method, frame, schema)
    memory()


def profile(method, frame, schema):
    print("\nwhere the time goes (own time, with the profiler's overhead):")
    profiler = cProfile.Profile()
    profiler.enable()
    method.publish(frame, schema)
    profiler.disable()
    stats = pstats.Stats(profiler)
    rows = sorted(stats.stats.items(), key=lambda item: -item[1][2])[:12]
    for (file, line, name), (_, calls, own, _, _) in rows:
        print(f"  {own:6.3f} s  {calls:6d} x  {file.rsplit('/', 1)[-1]}:{line} {name}")


def memory():
    setup = """
import incrowd as ic
from benchmarks.measure import QUASI, resampled
from incrowd.datasets import adult_schema
schema, method = adult_schema(), ic.Mondrian(k=50)
method.publish(resampled(20_000), schema)  # loads the compiled loops
frame = resampled(1_000_000).select([*QUASI, "income"])
"""
    size = resampled(1_000_000).select([*QUASI, "income"]).estimated_size()
    grown = peak_memory(setup, "release = method.publish(frame, schema)")
    print(f"\npeak memory above the input frame of {size / 1e6:.0f} MB: {grown / 1e6:.0f} MB", end="")
    print(f", in all {(size + grown) / size:.1f} x the input frame (limit 4)")
