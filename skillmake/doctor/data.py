"""Parameters, questions, pools and seed texts: would the first rules of the run take them?"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from skillmake.agent.environments.factory import make_environment
from skillmake.agent.factory import videos
from skillmake.agent.graders import make_grader
from skillmake.benchmark import Benchmark, Split, split
from skillmake.config.models import Config
from skillmake.doctor.lines import Level, Line, trouble
from skillmake.errors import SkillmakeError
from skillmake.planning import Assumed, counted, trial
from skillmake.questions import Question
from skillmake.skillfolders import read_skills
from skillmake.source import REHEARSAL, run_questions
from skillmake.start import Start
from skillmake.texts import Texts, seed_texts


def data_lines(config: Config) -> Iterator[Line]:
    """Questions, the agent that reads them, pools, seed texts; what needs a broken part is left out."""
    source = config.data.questions
    try:
        questions = run_questions(config, None if source == REHEARSAL else Path(source))
    except SkillmakeError as error:
        yield trouble("questions", error, "data.questions")
        return
    types = Counter(question.task_type for question in questions)
    units = len({question.unit_id for question in questions})
    yield Line("ok", "questions", f"{len(questions):,} valid, {units:,} units, {len(types)} task types")
    yield _agent_line(config, questions)
    try:
        pools = split(questions, config)
    except SkillmakeError as error:
        yield trouble("pools", error, "data.pools")
        return
    yield from _pool_lines(pools)
    try:
        texts = seed_texts(config.data, pools.trainable)
    except SkillmakeError as error:
        yield trouble("seed skills", error, "data.skills")
        return
    yield from _text_lines(config)
    yield from _sight_lines(config, questions, pools, texts)


def _agent_line(config: Config, questions: Sequence[Question]) -> Line:
    """The environment opens for every question, and the grader is there."""
    agent = config.agent
    try:
        make_grader(agent.grader, tolerance=agent.tolerance, f1_threshold=agent.f1_threshold)
        environment = make_environment(agent, videos(config))
        for question in questions:
            environment.open(question)
    except SkillmakeError as error:
        return trouble("agent", error, "agent")
    except Exception as error:  # the user's code: anything may come out of it
        where = f"{agent.environment}, {agent.grader}"
        return Line("fail", "agent", f"{where}: {type(error).__name__}: {error}", "correct the code it names")
    return Line("ok", "agent", f"environment {agent.environment}, grader {agent.grader}")


def _pool_lines(pools: Split) -> Iterator[Line]:
    sizes = ", ".join(f"{len(getattr(pools.pools, n))} {n}" for n in ("diagnosis", "validation", "test"))
    yield Line("ok", "pools", f"{sizes} units; {len(pools.trainable)} types can be trained")
    for name, reason in sorted(pools.dropped.items()):
        chosen = reason.startswith("not in task_types")
        todo = "" if chosen else "add questions of this type, or lower the parameter"
        yield Line("ok" if chosen else "warn", "not trained", f"{name}: {reason}", todo)


def _text_lines(config: Config) -> Iterator[Line]:
    skills, problems = read_skills(Path(config.data.skills))
    errors = [str(problem) for problem in problems if problem.is_error]
    if errors:
        found = "\n".join(["against the Agent Skills format, so they cannot be exported:", *errors])
        yield Line("warn", "seed skills", found, f"`skillmake skills check {config.data.skills}`")
    else:
        yield Line("ok", "seed skills", f"{len(skills)} in {config.data.skills}")


def _sight_lines(config: Config, questions: Sequence[Question], pools: Split, texts: Texts) -> Iterator[Line]:
    """Whether each gate could accept anything at all; how much it sees is what `skillmake plan` says."""
    start = Start(config, pools, Benchmark(questions, pools), texts)
    try:
        plans = counted(start, trial(start, Assumed()))
    except SkillmakeError as error:
        yield trouble("gate", error, "gate")
        return
    blind = [plan.task_type for plan in plans if not plan.acceptable]
    if blind:
        level: Level = "fail" if len(blind) == len(plans) and config.train.epochs else "warn"
        todo = "add questions, or see what `skillmake plan` says"
        yield Line(level, "gate", f"ladder too short to accept any edit: {', '.join(blind)}", todo)
    else:
        shortest = min(plan.ladder for plan in plans)
        yield Line("ok", "gate", f"ladders of {shortest} units or more; `skillmake plan` says what they see")
