"""metrics: the result of the run and its curves."""

from skillmake.benchmark import Benchmark
from skillmake.holdout import Holdout
from skillmake.job import Job
from skillmake.metrics import RunFiles, curve_csv, gates_csv, run_metrics
from skillmake.momentum import MomentumReport
from skillmake.packs import Diagnosis
from skillmake.prompts_update import PromptsReport, SecondValidation
from skillmake.rehearsal.truth import add_truth
from skillmake.result import result_text
from skillmake.rollout import Rollout
from skillmake.scores import SoftScores
from skillmake.settle import GateResult
from skillmake.slow import BestReport, Validation
from skillmake.texts import Texts


def main(job: Job) -> None:
    files = RunFiles(
        baseline=job.read("baseline", Rollout),
        rollouts=job.read_all("rollouts", Rollout),
        gates=job.read_all("gates", GateResult),
        validations=job.read_all("validations", Validation),
        test=job.read("test", Rollout),
        diagnoses=job.read_all("diagnoses", Diagnosis),
        momenta=job.read_all("momenta", MomentumReport),
        prompts=job.read_all("prompts", PromptsReport),
        softs=job.read_all("softs", SoftScores),
        seconds=job.read_all("seconds", SecondValidation),
        holdouts=job.read_all("holdouts", Holdout),
    )
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    best = job.read("best", BestReport)
    metrics = run_metrics(job.config.run, files, best, benchmark, job.config.seed)
    if "rehearsal" in job.config.model_dump():
        metrics = add_truth(metrics, job.config.rehearsal, job.read("seed_texts", Texts), best.texts)
    job.write("metrics", metrics)
    job.write("delivered", metrics)
    job.write_text("curve", curve_csv(files, benchmark))
    job.write_text("gates_table", gates_csv(files))
    job.say(result_text(metrics))
