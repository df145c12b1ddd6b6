"""Writes what FD.io's MLRsearch gives, as a fixture for the tests of `dnsdyno find --method mlrsearch`.

It is the program of the authors of RFC 9971, from PyPI: an independent source of what the bounds of a server without
noise are, and of what the load classification and the conditional throughput of a set of trials are.

    python3 -m venv /tmp/mlrsearch && /tmp/mlrsearch/bin/pip install MLRsearch==1.2.1
    /tmp/mlrsearch/bin/python benchsuite/mlrsearch.py > crates/campaign/src/find/mlrsearch/fdio.json

With the word `noise` it prints how often its bounds hold a limit that differs by 3 % from trial to trial.
"""

import json
import math
import random
import statistics
import sys
from importlib.metadata import version

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal
from MLRsearch.discrete_load import DiscreteLoad
from MLRsearch.discrete_result import DiscreteResult
from MLRsearch.load_rounding import LoadRounding
from MLRsearch.target_spec import TargetSpec
from MLRsearch.target_stat import TargetStat

CLASSES = {(True, True): "lower", (False, False): "upper", (True, False): "undecided"}


def rounded(number):
    """Half away from zero, as Rust rounds."""
    return int(number + 0.5)


class HardLimit(AbstractMeasurer):
    """A server that answers so many queries a second, and loses the others."""

    def __init__(self, limit):
        self.limit = limit
        self.seconds = 0.0
        self.trials = 0

    def measure(self, intended_duration, intended_load):
        self.seconds += intended_duration
        self.trials += 1
        answered = min(intended_load, self.limit)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            forwarding_count=rounded(answered * intended_duration),
            loss_count=rounded((intended_load - answered) * intended_duration),
        )


class NoisyLimit(HardLimit):
    """One whose limit differs by so much from trial to trial (standard deviation)."""

    def __init__(self, limit, noise, draw):
        super().__init__(limit)
        self.middle, self.noise, self.draw = limit, noise, draw

    def measure(self, intended_duration, intended_load):
        self.limit = self.middle * math.exp(self.noise * self.draw.gauss(0.0, 1.0))
        return super().measure(intended_duration=intended_duration, intended_load=intended_load)


def goals_of(settings):
    return [SearchGoal(**goal, preceding_targets=2, expansion_coefficient=2, fail_fast=False) for goal in settings]


def search(server, settings):
    """The bounds that it finds for each goal."""
    limit = server.limit
    config = Config()
    config.goals = goals_of(settings)
    config.max_load, config.min_load = 1e6, 200.0
    config.search_duration_max = 1000.0
    config.warmup_duration = 0.0
    found = MultipleLossRatioSearch(config=config).search(measurer=server, debug=lambda line: None)
    bounds = []
    for goal in config.goals:
        result = found[goal]
        bounds.append(
            {
                "lower": float(result.relevant_lower_bound),
                "upper": float(result.relevant_upper_bound),
                "throughput": float(result.conditional_throughput),
            }
        )
    return {"limit": limit, "seconds": server.seconds, "trials": server.trials, "bounds": bounds}


def classified(draw):
    """What a random set of trials at one load is for a random goal."""
    final = draw.choice([1, 5, 10, 60])
    goal = {
        "loss_ratio": draw.choice([0.0, 0.001, 0.005, 0.1]),
        "exceed_ratio": draw.choice([0.0, 0.1, 0.25, 0.5, 0.5, 0.75]),
        "final_s": final,
        "sum_s": final * draw.choice([1, 2, 3, 7, 21]),
    }
    target = TargetSpec(
        loss_ratio=goal["loss_ratio"],
        exceed_ratio=goal["exceed_ratio"],
        discrete_width=None,
        trial_duration=float(final),
        duration_sum=float(goal["sum_s"]),
        expansion_coefficient=2,
        fail_fast=False,
        preceding=None,
    )
    stat = TargetStat(target)
    rounding = LoadRounding(min_load=1e3, max_load=1e6, float_goals=[0.005])
    load = DiscreteLoad(rounding=rounding, float_load=10_000.0).rounded_down()
    bad = draw.random()
    trials = []
    for _ in range(draw.randint(0, 25)):
        seconds = draw.choice([1, 1, 2, 5, 10, 10, 60, 90])
        share = draw.choice([0.0005, 0.001, 0.004, 0.006, 0.05, 0.3]) if draw.random() < bad else 0.0
        lost = rounded(10_000 * seconds * share)
        trials.append([seconds, lost])
        result = MeasurementResult(
            intended_duration=float(seconds),
            intended_load=float(load),
            offered_count=10_000 * seconds,
            loss_count=lost,
        )
        stat.add(DiscreteResult.with_load(result=result, load=load))
    optimistic, pessimistic = stat.estimates()
    name = CLASSES[(bool(optimistic), bool(pessimistic))]
    case = {"goal": goal, "trials": trials, "class": name}
    if name == "lower":
        case["loss_ratio"] = stat.pessimistic_loss_ratio
    return case


def noise():
    """How often the bounds of a lossless goal hold a limit with noise."""
    draw = random.Random(9971)
    base = {"exceed_ratio": 0.5, "relative_width": 0.005, "initial_trial_duration": 1.0, "loss_ratio": 0.0}
    for name, changed in [
        ("10 s, sum=30 s", {"final_trial_duration": 10.0, "duration_sum": 30.0}),
        ("1 s, sum=21 s", {"final_trial_duration": 1.0, "duration_sum": 21.0}),
        ("60 s, exceed=0%", {"final_trial_duration": 60.0, "duration_sum": 60.0, "exceed_ratio": 0.0}),
    ]:
        held, seconds, searches = 0, [], 200
        for _ in range(searches):
            limit = 3_000 * 100 ** draw.random()
            found = search(NoisyLimit(limit, 0.03, draw), [{**base, **changed}])
            bounds = found["bounds"][0]
            held += bounds["lower"] <= limit <= bounds["upper"]
            seconds.append(found["seconds"])
        print(f"{name}: {held} of {searches} hold the limit, {statistics.median(seconds):.0f} s of load, median")


def main():
    draw = random.Random(9971)
    base = {"exceed_ratio": 0.5, "relative_width": 0.005, "initial_trial_duration": 1.0}
    ours = {**base, "final_trial_duration": 10.0, "duration_sum": 30.0}
    usual = {**base, "final_trial_duration": 1.0, "duration_sum": 21.0}
    strict = {**base, "exceed_ratio": 0.0, "final_trial_duration": 60.0, "duration_sum": 60.0}
    sets = {
        "lossless: loss=0|partial: loss<=0.5%": [{**ours, "loss_ratio": 0.0}, {**ours, "loss_ratio": 0.005}],
        "lossless: loss=0, 1 s, sum=21 s|partial: loss<=0.5%, 1 s, sum=21 s": [
            {**usual, "loss_ratio": 0.0},
            {**usual, "loss_ratio": 0.005},
        ],
        "rfc2544: loss=0, 60 s, sum=60 s, exceed=0%": [{**strict, "loss_ratio": 0.0}],
    }
    limits = [rounded(3_000 * 100 ** draw.random()) for _ in range(10)]
    searches = [
        {"goals": goals.split("|"), "searches": [search(HardLimit(limit), settings) for limit in limits]}
        for goals, settings in sets.items()
    ]
    cases = [classified(draw) for _ in range(200)]
    lines = [json.dumps(case) for case in cases]
    runs = [json.dumps(run) for run in searches]
    print('{"program": "MLRsearch %s",' % version("MLRsearch"))
    print('"searches": [\n%s\n],' % ",\n".join(runs))
    print('"classified": [\n%s\n]}' % ",\n".join(lines))


if __name__ == "__main__":
    noise() if sys.argv[1:] == ["noise"] else main()
