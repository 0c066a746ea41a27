"""What infer, eval, diagnose and promote are asked for, and the files of the run that they read."""

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
    return lambda wildcards, input, output: io(
        wildcards, input, output, files_or_problem(files, wildcards)
    )


@functools.cache
def chosen():
    return choose(RUN_DIR, VERSION)


@functools.cache
def check_asked():
    """A job that fails on its questions would first have removed the answers that are there."""
    from skillmake.infer import load_asked

    load_asked(Path(ASKED.questions), ASKED.types, ASKED.first)


def of_infer(wildcards):
    if ASKED.questions is None:
        raise DataError(
            "infer: no questions are given", "name a file: `--config questions=FILE`"
        )
    if not Path(ASKED.questions).is_file():
        raise DataError(f"{ASKED.questions}: no such file", "correct modes.questions")
    check_asked()
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


def of_diagnoses(wildcards):
    return labelled_rollouts(RUN_DIR, ASKED.rollouts)


def diagnoses(wildcards):
    labels = files_or_problem(of_diagnoses, wildcards)
    return [f"{DIAGNOSE}/{label}/diagnosis.json" for label in labels]


FILES_OF = {
    "infer": of_infer,
    "eval": of_eval,
    "promote": of_promote,
    "diagnose": of_diagnoses,
}
