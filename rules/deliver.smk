"""Deliver the best version, test it once, and say what the run has brought."""


rule final_test:
    input:
        **DATA,
        best=last_end("best"),
        videos=VIDEOS,
    output:
        rollout=f"{RUN}/final_test.json",
    log:
        f"{RUN}/log/final_test.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("models.student", "agent", "train.max_error_share"),
        code=code("final_test"),
        io=io,
    shell:
        f"{JOB} final_test {ARGS}"


rule deliver:
    input:
        best=last_end("best"),
    output:
        skills=directory("skills"),
        prompts=directory("prompts-delivered"),
    log:
        f"{RUN}/log/deliver.log",
    params:
        cfg=cfg(),
        code=code("deliver"),
        io=io,
    shell:
        f"{JOB} deliver {ARGS}"


rule versions:
    input:
        texts=lambda w: [
            f"{RUN}/data/texts.json",
            *of_steps("texts.json")(w),
            *of_epochs("end/settled_texts.json")(w),
            *of_epochs("end/prompts_texts.json")(w),
            *of_epochs("end/texts.json")(w),
        ],
        state=last_end("state"),
    output:
        versions=directory(f"{RUN}/versions"),
    log:
        f"{RUN}/log/versions.log",
    params:
        cfg=cfg(),
        code=code("versions"),
        io=io,
    shell:
        f"{JOB} versions {ARGS}"


rule metrics:
    input:
        **DATA,
        baseline=f"{RUN}/data/baseline.json",
        seed_texts=f"{RUN}/data/texts.json",
        rollouts=of_steps("rollout.json"),
        diagnoses=of_steps("diagnosis.json"),
        gates=of_steps("gate/{t}.json", per_type=True),
        validations=of_epochs("end/validation.json"),
        momenta=of_epochs("end/momentum.json"),
        prompts=of_epochs("end/prompts.json"),
        softs=softs if SOFT else [],
        seconds=of_epochs("end/validation2.json"),
        holdouts=of_epochs("end/holdout.json") if HOLDOUT else [],
        best=last_end("best"),
        test=f"{RUN}/final_test.json",
    output:
        metrics=f"{RUN}/metrics.json",
        delivered="metrics.json",
        curve="plots/validation.csv",
        gates_table="plots/gates.csv",
    log:
        f"{RUN}/log/metrics.log",
    params:
        cfg=cfg("run", "seed", *(["rehearsal"] if REHEARSAL else [])),
        code=code("metrics"),
        io=io,
    shell:
        f"{JOB} metrics {ARGS}"


rule tables:
    input:
        files=lambda w: [file for file in artefacts(w) if place_of(file)],
    output:
        **TABLE_FILES,
    log:
        f"{RUN}/log/tables.log",
    params:
        cfg=cfg(*(["rehearsal"] if REHEARSAL else [])),
        code=code("tables"),
        io=io,
    shell:
        f"{JOB} tables {ARGS}"


# The page holds what the artefacts say, so that it is an artefact too; `skillmake report` adds the logs.
rule report:
    input:
        files=artefacts,
        tables=TABLE_FILES.values(),
        metrics=f"{RUN}/metrics.json",
        templates=REPORT_TEMPLATES,
    output:
        page=f"{RUN}/report.html",
    log:
        f"{RUN}/log/report.log",
    params:
        cfg=cfg_with_prices("run", "models.student", "models.teacher", "models.judge"),
        code=code("report"),
        io=io,
    shell:
        f"{JOB} report {ARGS}"
