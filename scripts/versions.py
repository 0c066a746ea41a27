"""versions: every version of the skills and prompts as a directory named by its digest."""

from skillmake.job import Job
from skillmake.state import State
from skillmake.texts import Texts
from skillmake.versions import version_files


def main(job: Job) -> None:
    job.write_files("versions", version_files(job.read_all("texts", Texts), job.read("state", State)))
