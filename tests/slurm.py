"""A scheduler for one machine that speaks the commands of Slurm which profiles/slurm uses.

`install` puts sbatch, squeue and scancel into a folder. A job runs in a session of its own and gets nothing
of the submitting process but the variables in NODE. One whose name ends in $SLURM_KILLS is killed when the
rule's own process is at work, as by a node that is out of memory.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

NODE = ("HOME", "PATH", "SKILLMAKE_CACHE")
COMMANDS = ("sbatch", "squeue", "scancel")


def install(folder: Path) -> dict[str, str]:
    """Variables that make the commands in `folder` those that are found."""
    folder.mkdir()
    for name in COMMANDS:
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" {name} "$@"\n')
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "SLURM_JOBS": str(folder / "jobs")}


def sbatch(jobs: Path, arguments: list[str]) -> None:
    options = dict(each.removeprefix("--").split("=", 1) for each in arguments if "=" in each)
    jobs.mkdir(exist_ok=True)
    number = len(list(jobs.iterdir())) + 1
    (jobs / str(number)).write_text("PENDING")
    with Path(options["output"].replace("%j", str(number))).open("w") as out:
        subprocess.Popen(
            [sys.executable, __file__, "node", str(number), options["job-name"], arguments[-1]],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    print(number)


def node(jobs: Path, arguments: list[str]) -> None:
    number, name, script = arguments
    env = {key: os.environ[key] for key in NODE}
    job = subprocess.Popen([script], env=env, start_new_session=True)
    (jobs / number).write_text(f"RUNNING {job.pid}")
    kills = os.environ.get("SLURM_KILLS")
    if kills and name.endswith(kills):
        while job.poll() is None and not list(Path().glob(f"runs/*/log/running/{kills}.*")):
            time.sleep(0.005)
        os.killpg(job.pid, signal.SIGKILL)
    code = job.wait()
    (jobs / number).write_text("COMPLETED" if code == 0 else "OUT_OF_MEMORY" if code < 0 else "FAILED")


def squeue(jobs: Path, arguments: list[str]) -> None:
    print((jobs / arguments[-1]).read_text().split()[0])


def scancel(jobs: Path, arguments: list[str]) -> None:
    for number in arguments:
        state, *pid = (jobs / number).read_text().split()
        if state == "RUNNING":
            os.killpg(int(pid[0]), signal.SIGTERM)


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(os.environ["SLURM_JOBS"]), sys.argv[2:])
