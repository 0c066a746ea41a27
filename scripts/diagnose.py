"""diagnose: all diagnoses of the run that were asked for, as one page."""

from skillmake.diagnosis_text import diagnosis_text
from skillmake.job import Job
from skillmake.packs import Diagnosis


def main(job: Job) -> None:
    labels = [path.parent.name for path in job.paths("diagnoses")]
    found = job.read_all("diagnoses", Diagnosis)
    text = diagnosis_text(dict(zip(labels, found, strict=True)))
    job.write_text("summary", text)
    job.say(text)
