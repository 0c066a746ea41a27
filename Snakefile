"""The training loop of SPEC §3 and §7, top-down. `snakemake --cores 8` trains what params.yaml says."""


configfile: "params.yaml"


include: "rules/common.smk"  # parameters, code digests, file layout
include: "rules/data.smk"  # questions → pools → seed → baseline → first state
include: "rules/step.smk"  # plan → rollout → diagnose → evolve → gate → settle
include: "rules/slow.smk"  # validation → probations → best → next epoch
include: "rules/deliver.smk"  # sealed test, skills/, versions, metrics.json, plots, tables, report
include: "rules/asked.smk"  # what the targets beside training are asked for
include: "rules/modes.smk"  # infer, eval, diagnose, promote
include: "rules/start.smk"  # lock, what is refused, what is pruned


# What sends no call is done before a cluster would have started it.
localrules:
    all,
    questions,
    pools,
    seed,
    init,
    plan,
    settle,
    scores,
    write_back,
    probations,
    best,
    epoch_report,
    epoch_end,
    deliver,
    versions,
    metrics,
    tables,
    report,
    diagnose,
    promote,


rule all:
    default_target: True
    input:
        # Every artefact in order of time, in a rule without output: a file that only other jobs
        # ask for would be no reason to run, and the next start would find nothing to do over
        # stale results (DESIGN §4.3).
        artefacts,
        "skills",
        "prompts-delivered",
        f"{RUN}/metrics.json",
        "metrics.json",
        "plots/validation.csv",
        "plots/gates.csv",
        f"{RUN}/versions",
        TABLE_FILES.values(),
        f"{RUN}/report.html",
