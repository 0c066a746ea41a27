"""Parameters, code digests, file layout: everything that is not the algorithm."""

import functools
import json
import logging
import sys
from pathlib import Path

# The checkout that holds this Snakefile is the one that runs, also in a worktree of a DVC experiment.
sys.path.insert(0, str(workflow.basedir))

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from skillmake.agent.environments.files import looked_up_files
from skillmake.artifacts import canonical_line, sha256
from skillmake.brief import Brief
from skillmake.codehash import code_digest
from skillmake.config.load import (
    hashed_part,
    overlay,
    parse_config,
    pick,
    unhashed_part,
    with_short_keys,
)
from skillmake.config.modes import Modes
from skillmake.errors import SkillmakeError
from skillmake.pulse import join_session
from skillmake.tables.places import TABLES, place_of
from skillmake.texts import tool_prompts
from skillmake.workspace import on_file, set_environment

set_environment(Path(workflow.basedir))
logger.addFilter(Brief())
# A full disk is told by the job that needs it, and not by each line that no log can take
logging.raiseExceptions = False

# Parameters of infer, eval, diagnose and promote may be given without their section, `version=best`.
SHORT_KEYS = set(Modes.model_fields) & set(workflow.config_settings.config)
try:
    CONFIG = parse_config(with_short_keys(config, SHORT_KEYS))
except SkillmakeError as error:
    raise WorkflowError(str(error))

RUN = f"runs/{CONFIG.run}"
HASHED = json.loads(canonical_line(hashed_part(CONFIG)))
SETTINGS = unhashed_part(CONFIG)
REHEARSAL = CONFIG.data.questions == "rehearsal"
SLOTS = CONFIG.limits.slots
# Calls in flight in the whole run. A job starts when its share of them is free, and the jobs that run share
# them as they need them (skillmake/llm/slots.py).
_limit = workflow.global_resources.get("llm_slots")
ALL_SLOTS = None if _limit is None else _limit.value
# A Snakemake that a cluster starts on a node for one job is given no profile and no --resources, and its time
# is part of the run's.
if workflow.remote_exec:
    try:
        ALL_SLOTS = join_session(Path(RUN))
    except SkillmakeError as error:
        raise WorkflowError(str(error))
# What an agent with tools may look up, and the code of a user's own environment. One artefact with their
# digests stands for them, so that not every rule and every stamp names thousands of frames.
LOOKED_UP = looked_up_files(CONFIG.agent.environment, CONFIG.data.videos)
VIDEOS = [f"{RUN}/data/videos.json"] if LOOKED_UP else []
# Note, questions and rollouts of the promoted seed that the run starts from
STORED = (
    [
        f"seeds/{CONFIG.data.seed}/{name}"
        for name in ("seed.json", "questions.jsonl", "baseline.json")
    ]
    if CONFIG.data.seed
    else []
)
BY_LLM = CONFIG.evolve.teacher == "llm"
BY_JUDGES = CONFIG.diagnose.method == "judges"
SOFT = BY_JUDGES and CONFIG.slow.soft_validation
HOLDOUT = CONFIG.slow.run_holdout_eval


def templates_in(folder):
    return sorted(path.as_posix() for path in Path(folder).glob("*.md"))


TEMPLATES = templates_in(CONFIG.evolve.templates) if BY_LLM else []
JUDGE_TEMPLATES = templates_in(CONFIG.diagnose.templates) if BY_JUDGES else []
DIAGNOSE_KEYS = (
    ["seed", "diagnose", "models.judge", "agent"] if BY_JUDGES else ["diagnose.method"]
)
SLOW_TEMPLATES = templates_in(CONFIG.slow.templates)
REPORT_TEMPLATES = sorted(
    path.as_posix() for path in Path("skillmake/report/templates").iterdir()
)
PRICES = tuple(
    f"models.{role}.{price}"
    for role in ("student", "teacher", "judge")
    for price in ("price_in", "price_out")
)
# What momentum depends on where there is a model to write it.
MOMENTUM_KEYS = [
    "seed",
    "gate",
    "slow.momentum_samples",
    "slow.gate_momentum",
    "slow.momentum_margin",
    "slow.e_rollback",
    "slow.templates",
    "evolve.skill_token_cap",
    "models.student",
    "models.teacher",
    "agent",
    "train.max_error_share",
]


wildcard_constraints:
    e=r"\d{2}",
    s=r"\d{3}",
    t=r"[a-z0-9-]+",


# Bytes of a job's argument; Linux takes 128 KiB together with the rest of the command.
LONGEST_ARGUMENT = 60_000
LONG_ARGUMENTS = Path(".snakemake/skillmake.arguments")


# --- what a rule may see ------------------------------------------------------
# A rule's parameters are one canonical JSON text of just its keys, and the digest of its code: both
# are triggers. `io` is a function of input and output, which Snakemake does not track, so it may carry
# what changes no result. No absolute path may stand in a shell text: it counts as the rule's code.
def cfg(*keys):
    """The parameters at dotted `keys`, with those of what a role lives in and of what an agent looks up."""
    roles = {
        "models.student": CONFIG.models.student,
        "models.teacher": CONFIG.models.teacher,
        "models.judge": CONFIG.models.judge,
        "models.vision": CONFIG.models.vision,
    }
    if "agent" in keys and CONFIG.agent.environment != "qa":
        keys = (*keys, "data.videos", "models.vision")
    used = [roles[key] for key in keys if key in roles]
    if any(model is not None and model.provider == "rehearsal" for model in used):
        keys = (*keys, "rehearsal")
    return canonical_line(pick(HASHED, keys))


def cfg_with_prices(*keys):
    """As `cfg`; prices change no result of the training, but what the report says of money."""
    prices = pick(CONFIG.model_dump(mode="json"), PRICES)
    return canonical_line(overlay(json.loads(cfg(*keys)), prices))


@functools.cache
def code(rule_name):
    return code_digest(Path(workflow.basedir) / "scripts" / f"{rule_name}.py")


def io(wildcards, input, output, of_run={}):
    """`of_run`: further inputs by name, which Snakemake is not to know."""

    def plain(files):
        return {k: v if isinstance(v, str) else list(v) for k, v in files.items()}

    text = canonical_line(
        {
            "inputs": {**plain(input), **of_run},
            "outputs": plain(output),
            "wildcards": dict(sorted(wildcards.items())),
            "run": RUN,
            "settings": SETTINGS,
            "slots": ALL_SLOTS,
        }
    )
    return text if len(text) < LONGEST_ARGUMENT else on_file(text, LONG_ARGUMENTS)


# `exec` makes the job a direct child of Snakemake, so that it dies with it.
JOB = "exec python -m skillmake.job"
ARGS = "{params.code} {params.cfg:q} {params.io:q} 2> {log}"


# --- file layout ----------------------------------------------------------------
EPOCH = f"{RUN}/e{{e}}"
STEP = f"{EPOCH}/s{{s}}"
END = f"{EPOCH}/end"
DATA = {"questions": f"{RUN}/data/questions.jsonl", "pools": f"{RUN}/data/pools.json"}


def epoch_end(e, kind):
    """File `kind` of the end of epoch e; that of epoch 0 is the start of the run."""
    if e:
        return f"{RUN}/e{e:02d}/end/{kind}.json"
    return f"{RUN}/data/texts.json" if kind == "texts" else f"{RUN}/init/{kind}.json"


def step_end(e, s, kind):
    return f"{RUN}/e{e:02d}/s{s:03d}/{kind}.json" if s else epoch_end(e - 1, kind)


def before(kind):
    """State or texts that a step starts from."""
    return lambda w: step_end(int(w.e), int(w.s) - 1, kind)


def after_steps(kind):
    """State or texts that the last step of an epoch ends with."""
    return lambda w: step_end(int(w.e), len(plan(w.e)["batches"]), kind)


# Artefacts of a slow update in order of time.
END_KINDS = [
    "validation",
    *(["soft"] if SOFT else []),
    *("scores", "observed_state"),
    *("settled_state", "settled_texts", "probation", "settled_best"),
    *("momentum", "momentum_texts"),
    *("prompts", "prompts_texts"),
    *("validation2", "best", "texts"),
    *(["holdout"] if HOLDOUT else []),
    *("report", "state"),
]


# --- what is known only now: one checkpoint per epoch ------------------------
def plan(e):
    """Plan of epoch e; Snakemake catches what is raised until the checkpoint has run."""
    with checkpoints.plan.get(e=f"{int(e):02d}").output[0].open() as file:
        return json.load(file)


def finished_epochs():
    e = 1
    while not plan(e)["stop"]:
        e += 1
    return range(1, e)


def of_epochs(name):
    return lambda w: [f"{RUN}/e{e:02d}/{name}" for e in finished_epochs()]


def of_steps(name, per_type=False):
    """Files of every step of the run, in order of time."""

    def files(w):
        out = []
        for e in finished_epochs():
            for s, batch in enumerate(plan(e)["batches"], 1):
                types = batch["types"] if per_type else [""]
                out += [f"{RUN}/e{e:02d}/s{s:03d}/{name.format(t=t)}" for t in types]
        return out

    return files


def softs(w):
    return [f"{RUN}/data/soft.json", *of_epochs("end/soft.json")(w)]


def seed_files():
    skills = sorted(Path(CONFIG.data.skills).glob("*/SKILL.md"))
    prompts = Path(CONFIG.data.prompts)
    return [
        path.as_posix()
        for path in [*skills, prompts / "system.md", *tool_prompts(prompts)]
    ]


def gate_share(w):
    """An equal share of the calls in flight for each gate of a step, so that they run side by side."""
    types = plan(w.e)["batches"][int(w.s) - 1]["types"]
    return min(SLOTS, max(1, (ALL_SLOTS or SLOTS) // len(types)))


def gates_of_step(w):
    types = plan(w.e)["batches"][int(w.s) - 1]["types"]
    return [f"{RUN}/e{w.e}/s{w.s}/gate/{t}.json" for t in types]


def diagnoses_of_epoch(w):
    steps = range(1, len(plan(w.e)["batches"]) + 1)
    return [f"{RUN}/e{w.e}/s{s:03d}/diagnosis.json" for s in steps]


def last_end(kind):
    return lambda w: epoch_end(len(finished_epochs()), kind)


def artefacts(w):
    """Every file of the run, in order of time."""
    soft = [f"{RUN}/data/soft.json"] if SOFT else []
    out = [*DATA.values(), f"{RUN}/data/texts.json", *VIDEOS]
    out += [f"{RUN}/data/baseline.json", *soft]
    out += [epoch_end(0, kind) for kind in ("state", "best")]
    epochs = finished_epochs()
    for e in [*epochs, len(epochs) + 1]:
        out.append(f"{RUN}/e{e:02d}/plan.json")
        if e not in epochs:
            break
        for s, batch in enumerate(plan(e)["batches"], 1):
            d = f"{RUN}/e{e:02d}/s{s:03d}"
            out += [f"{d}/rollout.json", f"{d}/diagnosis.json"]
            out += [
                f"{d}/{k}/{t}.json"
                for k in ("candidate", "gate")
                for t in batch["types"]
            ]
            out += [f"{d}/state.json", f"{d}/texts.json"]
        out += [f"{RUN}/e{e:02d}/end/{kind}.json" for kind in END_KINDS]
    return [*out, f"{RUN}/final_test.json"]


TABLE_FILES = {name: f"{RUN}/tables/{name}.jsonl" for name in TABLES}
