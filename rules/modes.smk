"""Beside training (SPEC §8): infer, eval, diagnose, promote. They read a run and change nothing of it."""

from skillmake.chosen import (
    check_free,
    choose,
    folder_name,
    holder,
    labelled_rollouts,
    questions_of,
    versions_of,
)
from skillmake.errors import DataError
from skillmake.workspace import MODES

RUN_DIR = Path(RUN)
ASKED = CONFIG.modes
VERSION = ASKED.version or "current"
INFER = f"{RUN}/{MODES}/infer/{ASKED.name or folder_name(Path(ASKED.questions or 'none').stem)}"
EVAL = f"{RUN}/{MODES}/eval/{folder_name(VERSION)}"
DIAGNOSE = f"{RUN}/{MODES}/diagnose"
# No training is to find that a target makes the seed it starts from
SEED = f"seeds/{None if ASKED.name == CONFIG.data.seed else ASKED.name}"


wildcard_constraints:
    d="[A-Za-z0-9._-]+",


# --- files of the run ------------------------------------------------------------
# They are no inputs: Snakemake would first bring the run up to date, that is, train. Their digests are a
# parameter, so a target is made anew when they change, and the job reads and stamps them as any other input.
problems = []


def files_or_problem(files, wildcards):
    """Files of the run by name; what is wrong with the request is said before any job starts."""
    try:
        return {name: path.as_posix() for name, path in files(wildcards).items()}
    except SkillmakeError as error:
        problems.append(str(error))
        return {}


def digests(files):
    return lambda wildcards: canonical_line(
        {
            path: sha256(Path(path).read_bytes())
            for path in files_or_problem(files, wildcards).values()
        }
    )


def io_with(files):
    return lambda wildcards, input, output, resources: io(
        wildcards, input, output, resources, files_or_problem(files, wildcards)
    )


@functools.cache
def chosen():
    return choose(RUN_DIR, VERSION)


def of_infer(wildcards):
    if ASKED.questions is None:
        raise DataError(
            "infer: no questions are given", "name a file: `--config questions=FILE`"
        )
    if not Path(ASKED.questions).is_file():
        raise DataError(f"{ASKED.questions}: no such file", "see modes.questions")
    return {"asked": Path(ASKED.questions), "texts": chosen().file}


def of_eval(wildcards):
    if ASKED.version is None:
        raise DataError(
            "no version is given", "`--config version=best`, or see `skillmake lineage`"
        )
    data = {name: Path(path) for name, path in DATA.items()}
    return {**data, "texts": chosen().file}


def of_promote(wildcards):
    if ASKED.name is None or ASKED.name == CONFIG.data.seed:
        raise DataError(
            "promote: no new name is given", "name the seed: `--config name=NAME`"
        )
    if ASKED.version is not None:
        check_free(Path(SEED), chosen().skills, chosen().prompts)
    return {"questions": Path(DATA["questions"])}


def of_diagnosis(wildcards):
    rollouts = labelled_rollouts(RUN_DIR, ASKED.rollouts)[wildcards.d]
    return {
        "rollout": rollouts,
        "texts": holder(RUN_DIR, *versions_of(rollouts)),
        "questions": questions_of(RUN_DIR, rollouts),
    }


def diagnoses(wildcards):
    try:
        labels = labelled_rollouts(RUN_DIR, ASKED.rollouts)
    except SkillmakeError as error:
        problems.append(str(error))
        labels = []
    return [f"{DIAGNOSE}/{label}/diagnosis.json" for label in labels]


# The training's artefact of what an agent may look up is not touched either
LOOKED_UP_NOW = [f"{RUN}/{MODES}/videos.json"] if LOOKED_UP else []

if LOOKED_UP:

    rule videos_now:
        input:
            files=LOOKED_UP,
        output:
            videos=LOOKED_UP_NOW[0],
        log:
            f"{RUN}/log/videos_now.log",
        params:
            cfg=cfg(),
            code=code("videos"),
            io=io,
        shell:
            f"{JOB} videos {ARGS}"


# --- targets ----------------------------------------------------------------------
rule infer:
    input:
        videos=LOOKED_UP_NOW,
    output:
        predictions=f"{INFER}/predictions.jsonl",
        rollout=f"{INFER}/rollout.json",
        version=f"{INFER}/version.json",
        questions=f"{INFER}/questions.jsonl",
    log:
        f"{RUN}/log/infer.log",
    resources:
        llm_slots=SLOTS,
    params:
        run=digests(of_infer),
        cfg=cfg(
            "modes.types",
            "modes.first",
            "models.student",
            "agent",
            "train.max_error_share",
        ),
        code=code("infer"),
        io=io_with(of_infer),
    shell:
        f"{JOB} infer {ARGS}"


rule eval:
    input:
        videos=LOOKED_UP_NOW,
    output:
        report=f"{EVAL}/report.json",
        table=f"{EVAL}/report.txt",
        rollout=f"{EVAL}/rollout.json",
        version=f"{EVAL}/version.json",
    log:
        f"{RUN}/log/eval.log",
    resources:
        llm_slots=SLOTS,
    params:
        run=digests(of_eval),
        cfg=cfg("models.student", "agent", "train.max_error_share"),
        code=code("eval"),
        io=io_with(of_eval),
    shell:
        f"{JOB} eval {ARGS}"


rule diagnose_rollouts:
    input:
        templates=JUDGE_TEMPLATES,
    output:
        diagnosis=f"{DIAGNOSE}/{{d}}/diagnosis.json",
    log:
        f"{RUN}/log/diagnose.{{d}}.log",
    resources:
        llm_slots=SLOTS if BY_JUDGES else 0,
    params:
        run=digests(of_diagnosis),
        cfg=cfg(*DIAGNOSE_KEYS),
        code=code("diagnose_rollouts"),
        io=io_with(of_diagnosis),
    shell:
        f"{JOB} diagnose_rollouts {ARGS}"


rule diagnose:
    input:
        diagnoses=diagnoses,
    output:
        summary=f"{DIAGNOSE}/summary.md",
    log:
        f"{RUN}/log/diagnose.log",
    params:
        cfg=cfg(),
        code=code("diagnose"),
        io=io,
    shell:
        f"{JOB} diagnose {ARGS}"


rule promote:
    input:
        version=f"{EVAL}/version.json",
        rollout=f"{EVAL}/rollout.json",
    output:
        # The note is the first to be written: a folder without it is somebody else's
        seed=f"{SEED}/seed.json",
        questions=f"{SEED}/questions.jsonl",
        baseline=f"{SEED}/baseline.json",
        skills=directory(f"{SEED}/skills"),
        prompts=directory(f"{SEED}/prompts"),
    log:
        f"{RUN}/log/promote.log",
    params:
        run=digests(of_promote),
        cfg=cfg("run", "models.student", "agent"),
        code=code("promote"),
        io=io_with(of_promote),
    shell:
        f"{JOB} promote {ARGS}"
