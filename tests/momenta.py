"""Texts, a pool and an agent for tests of momentum."""

from skillmake.config.models import Gate
from skillmake.texts import Texts, Version
from tests.unit.test_slow import ALPHA, BETA, TEXTS

HEAD = "---\nname: alpha\ndescription: Sorts.\n---\n\n"
GATE = Gate(n_max=8, rung=4, e_confirm=20, e_provisional=2, use_diagnosis=False, guard_err=0.1)


def skill(*words: str) -> str:
    return HEAD + "\n".join(words) + "\n"


ALL = tuple(f"k{k:02d}" for k in range(8))
SEED = Version.of({ALPHA: skill("k00"), BETA: skill("k01")}, None, "seed")
START = Texts(skills=SEED, prompts=TEXTS.prompts)
NOW = START.with_skill(ALPHA, skill(*ALL), "step 1")
