"""Changepoints of other programs in the series of `history_series`: Apache Otava and jumpavg, as installed.

    pip install apache-otava jumpavg
    cargo run --release -p dnsdyno-campaign --example history_series -- 1000 FOLDER
    python benchsuite/history/peers.py FOLDER [SERIES]

Of each file: of 100 series, in how many any change is told, and in how many one within six runs of where it was made.
"""

import pathlib
import sys

# File, and the run at which the step was made; None where there is none.
FILES = [
    ("unchanged.csv", None),
    ("unchanged__none_disturbed.csv", None),
    ("_3____12_runs_after.csv", 88),
    ("_10____3_runs_after.csv", 97),
]


def otava(values):
    from otava.analysis import compute_change_points

    points = compute_change_points(values)
    if isinstance(points, tuple):
        points = points[0]
    return [point.index for point in points]


def jumpavg_groups(values):
    import jumpavg

    groups = jumpavg.classify(values)
    starts, at = [], 0
    for group in groups:
        size = group.stats.size if hasattr(group, "stats") else len(group.run_list)
        starts.append(at)
        at += int(size)
    return starts[1:]


def main():
    folder = pathlib.Path(sys.argv[1])
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    for name, program in (("otava", otava), ("jumpavg", jumpavg_groups)):
        for file, made in FILES:
            lines = (folder / file).read_text().splitlines()[:most]
            told = found = 0
            for line in lines:
                places = program([float(value) for value in line.split(",")])
                told += bool(places)
                found += made is not None and any(abs(place - made) <= 6 for place in places)
            share = 100 / len(lines)
            print(f"{name:8} {file:32} any {told * share:5.1f}  found {found * share:5.1f}", flush=True)


if __name__ == "__main__":
    main()
