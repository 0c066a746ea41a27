"""tables: what the run has observed, as tidy tables."""

from skillmake.job import Job
from skillmake.rehearsal.world import World
from skillmake.tables.catalog import jsonl, make_tables
from skillmake.tables.record import read_record


def main(job: Job) -> None:
    world = World(job.config.rehearsal) if "rehearsal" in job.config.model_dump() else None
    for name, rows in make_tables(read_record(job.paths("files")), world).items():
        job.write_text(name, jsonl(rows))
