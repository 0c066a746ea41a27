"""Start and end of Snakemake: lock, pack, sweep, what is refused, prune."""

import atexit
import os
import shutil

from skillmake.chosen import no_such_seed
from skillmake.config.modes import USED_BY
from skillmake.made import set_changed_aside
from skillmake.packing import PACK, pack, unpack_if_other
from skillmake.pulse import begin_session, end_session
from skillmake.structure import check_unchanged, record, structure_of
from skillmake.workspace import (
    LOCK_FILE,
    MODES,
    STRUCTURE,
    TrainingLock,
    only_looks,
    prune,
    sweep_incomplete,
)

SNAKEMAKE = Path(".snakemake")
LOCK = TrainingLock(LOCK_FILE)
UNPRUNED = SNAKEMAKE / "skillmake.unpruned"
# While it reads this file Snakemake does not know yet what it was started for
LOOKS = only_looks(sys.argv[1:])

# Who only looks may bring what is not there yet
if workflow.is_main_process and (not LOOKS or not Path(RUN).exists()):
    try:
        if LOCK.acquire() and (unpacked := unpack_if_other()):
            print(f"runs/{unpacked}: taken from {PACK}", file=sys.stderr)
    except SkillmakeError as error:
        raise WorkflowError(str(error))

# Snakemake would only say that files of it are missing
if STORED and not Path(STORED[0]).is_file() and not Path(DATA["questions"]).is_file():
    raise WorkflowError(str(no_such_seed(Path(STORED[0]).parent)))

if workflow.is_main_process and not LOOKS and LOCK.acquire():
    for left in sweep_incomplete(SNAKEMAKE / "incomplete"):
        print(
            f"{left}: left incomplete by a run that was killed or had no room; made again",
            file=sys.stderr,
        )
    for changed, kept in set_changed_aside(CONFIG.run):
        print(
            f"{changed}: changed since it was made; kept in {kept}, made again",
            file=sys.stderr,
        )


# --- what must not begin -----------------------------------------------------------
STARTED = []  # holds the run from the first job on, and what ends the sign of life


def structure_now():
    files = [*([] if REHEARSAL else [CONFIG.data.questions]), *seed_files()]
    return structure_of(CONFIG), [Path(file) for file in files]


def check_start(started):
    """Refuse a target that lacks something, and a run that is no longer the same. Returns whether rules of the
    training are among those that start."""
    modes = started & set(USED_BY)
    for mode in modes:
        files_or_problem(FILES_OF[mode], None)
    trains = bool(started - modes - {"diagnose_rollouts", "videos_now"})
    unused = SHORT_KEYS - {key for mode in modes for key in USED_BY[mode]}
    who = ", ".join(sorted(modes)) or "the training"
    wrong = [f"{key}: no parameter of {who}" for key in sorted(unused)] + problems
    if wrong:
        raise WorkflowError("\n".join(dict.fromkeys(wrong)))
    try:
        if trains:
            check_unchanged(Path(RUN), *structure_now())
    except SkillmakeError as error:
        raise WorkflowError(str(error))
    return trains


onstart:
    STARTED.append(RUN)
    if not LOCK.acquire():
        raise WorkflowError(
            "another snakemake trains in this directory; wait for it or stop it"
        )
    if check_start({job.rule.name for job in workflow.dag.jobs}):
        record(Path(RUN), *structure_now())
        UNPRUNED.touch()
    STARTED.append(begin_session(Path(RUN), CONFIG, ALL_SLOTS))


def leave_with_error():
    """Exit code 1 of a start that had nothing to do: from `atexit` there is no other way to it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


# A dry run, and a start that has nothing to do, call no handler
@atexit.register
def _say_what_a_start_refuses():
    if workflow.is_main_process and workflow._dag is not None and not STARTED:
        try:
            check_start({job.rule.name for job in workflow.dag.jobs})
        except WorkflowError as error:
            print(f"A start would be refused:\n{error}", file=sys.stderr)
            if not LOOKS:
                leave_with_error()


# --- the end ------------------------------------------------------------------------
def is_whole(jobs):
    """Whether these are the jobs of the whole training."""
    return any(job.rule.name == "all" for job in jobs)


def finish():
    """Delete what the finished DAG does not contain, as a re-run may be shorter than the run before; and
    pack what it does. Snakemake shows a WorkflowError without a traceback."""
    jobs = list(workflow.dag.jobs)
    if is_whole(jobs):
        made = {str(file) for job in jobs for file in job.output}
        logs = {str(file) for job in jobs for file in job.log}
        kept_dirs = [f"{RUN}/{name}" for name in ("versions", "log", MODES)]
        prune(Path(RUN), {*made, *logs, f"{RUN}/{STRUCTURE}"}, kept_dirs)
        shutil.rmtree(LONG_ARGUMENTS, ignore_errors=True)
        try:
            pack(CONFIG.run, made)
        except SkillmakeError as error:
            end_session(Path(RUN), "failed", *STARTED[1:])
            raise WorkflowError(str(error))
        UNPRUNED.unlink(missing_ok=True)


onsuccess:
    atexit.unregister(_finish_what_a_kill_left)
    finish()
    how = "finished" if is_whole(workflow.dag.jobs) else "ended"
    end_session(Path(RUN), how, *STARTED[1:])


onerror:
    from skillmake.llm.cost import Spent

    jobs = list(workflow.dag.jobs)
    done = sum(workflow.dag.noneedrun_finished(job) for job in jobs)
    print(
        f"{RUN} stopped: {done} of {len(jobs)} jobs planned so far are done. "
        f"Spent in all: {Spent.read(Path(RUN, 'log'))}. The same command continues.",
        file=sys.stderr,
    )
    end_session(Path(RUN), "failed", *STARTED[1:])


# Killed between the last job and finish(), the next start has nothing to do and calls no handler.
@atexit.register
def _finish_what_a_kill_left():
    if (
        workflow.is_main_process
        and not workflow.dryrun
        and workflow._dag is not None
        and not any(workflow.dag.needrun_jobs())
        and LOCK.acquire()
    ):
        try:
            if UNPRUNED.exists() or not Path(PACK).exists():
                finish()
        except WorkflowError as error:
            print(error, file=sys.stderr)
            leave_with_error()
        if is_whole(workflow.dag.jobs):
            end_session(Path(RUN), "finished")
