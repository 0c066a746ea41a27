"""Starts of a run, made by hand."""

from collections.abc import Mapping, Sequence

from skillmake.benchmark import Benchmark, Split
from skillmake.config.load import overlay, parse_config
from skillmake.pools import Pools
from skillmake.start import Start
from skillmake.texts import Texts, Version
from tests.worlds import question

TEXTS = Texts(
    skills=Version.of({"alpha/SKILL.md": "text", "beta/SKILL.md": "text"}, None, "seed"),
    prompts=Version.of({"system.md": "Answer."}, None, "seed"),
)


def start(sizes: Mapping[str, Sequence[int]], texts: Texts = TEXTS, **sections: object) -> Start:
    """A start with (diagnosis, validation, test) single units of each type, and sections of parameters.

    alpha has the units alpha-d00, …, alpha-v00, …, alpha-t00, … A type has a single unit in a batch at least.
    """
    names = {
        pool: [
            (name, f"{name}-{pool}{k:02d}") for name, counts in sizes.items() for k in range(counts[place])
        ]
        for place, pool in enumerate("dvt")
    }
    inside = {pool: tuple(sorted(name for _, name in found)) for pool, found in names.items()}
    questions = [question(name, kind) for found in names.values() for kind, name in found]
    split = Split(
        pools=Pools(diagnosis=inside["d"], validation=inside["v"], test=inside["t"]),
        trainable=tuple(sorted(sizes)),
        dropped={},
    )
    config = parse_config(overlay({"train": {"min_class_per_batch": 1}}, sections))
    return Start(config, split, Benchmark(questions, split), texts)
