"""report: the run as a page, without what its logs say of time and money."""

from skillmake.job import Job
from skillmake.report.page import report_html
from skillmake.report.source import models_by_role, read_source


def main(job: Job) -> None:
    paths = [*job.paths("files"), *job.paths("tables"), job.path("metrics")]
    models = models_by_role(job.config.models.model_dump())
    job.write_text("page", report_html(read_source(job.config.run, paths, models)))
