"""videos: digests of all that an agent may look up."""

from skillmake.agent.environments.files import LookedUp
from skillmake.job import Job


def main(job: Job) -> None:
    found = LookedUp.of(job.paths("files"))
    job.write("videos", found)
    job.say(f"videos: {len(found.digests)} files")
