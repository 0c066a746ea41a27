"""In the known-truth world the real accuracy of skills is known, without any call."""

from collections.abc import Mapping
from typing import Any

from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.world import World
from skillmake.texts import Texts


def add_truth(
    metrics: Mapping[str, Any], config: WorldConfig, seed: Texts, delivered: Texts
) -> dict[str, Any]:
    """`metrics` with the true accuracies; it says that nothing in it is a real model's."""
    world = World(config)
    before, after = true_accuracy(world, seed), true_accuracy(world, delivered)
    truth = {"seed": before, "delivered": after, "gain": round(after - before, 6)}
    return {**metrics, "rehearsal": {"world": world.digest, "true_accuracy": truth}}


def true_accuracy(world: World, texts: Texts) -> float:
    """True accuracy of skills and system prompt over all units of the world."""
    skills = {task_type.name: texts.skill(task_type.name) for task_type in world.types}
    return round(world.true_accuracy(skills, system=texts.system).overall, 6)
