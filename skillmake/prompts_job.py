"""What a prompts job needs, from its configuration; or the reason why there is nothing to do."""

from functools import partial

from skillmake.benchmark import Benchmark
from skillmake.guards import LeakGuard
from skillmake.job import Job
from skillmake.packs import Diagnosis
from skillmake.prompt_evolution import evolve_records
from skillmake.prompts_update import PromptsReport, evolve_prompts
from skillmake.teachers.factory import prompt_teacher
from skillmake.texts import Texts


def make_prompts(
    job: Job, texts: Texts, diagnoses: list[Diagnosis], benchmark: Benchmark, epoch: int
) -> tuple[PromptsReport, Texts]:
    """Step 7 of the slow update of `epoch`: the report, and the texts with the new prompts."""
    config = job.config
    if not config.slow.evolve_prompts:
        return PromptsReport(reason="slow.evolve_prompts is false"), texts
    if config.evolve.teacher == "exemplar":
        return PromptsReport(reason="evolve.teacher: exemplar has no model that could edit them"), texts
    with prompt_teacher(job) as teacher:
        evolver = partial(
            evolve_records,
            budget=config.evolve.edit_budget_end,
            teacher=teacher,
            guard=LeakGuard(benchmark.held_out),
            config=config.evolve,
        )
        return evolve_prompts(texts, diagnoses, evolver, epoch)
