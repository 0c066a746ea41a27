"""Deliver the best version, test it once, and say what the run has brought."""


rule final_test:
    input:
        **DATA,
        best=last_end("best"),
    output:
        rollout=RUN + "/final_test.json",
    log:
        RUN + "/log/final_test.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("models.student", "agent", "train.max_error_share"),
        code=code("final_test"),
        io=io,
    shell:
        JOB + "final_test" + ARGS


rule deliver:
    input:
        best=last_end("best"),
    output:
        skills=directory("skills"),
    log:
        RUN + "/log/deliver.log",
    params:
        cfg=cfg(),
        code=code("deliver"),
        io=io,
    shell:
        JOB + "deliver" + ARGS


rule versions:
    input:
        texts=lambda w: [
            RUN + "/data/texts.json",
            *of_steps("texts.json")(w),
            *of_epochs("end/texts.json")(w),
        ],
        state=last_end("state"),
    output:
        versions=directory(RUN + "/versions"),
    log:
        RUN + "/log/versions.log",
    params:
        cfg=cfg(),
        code=code("versions"),
        io=io,
    shell:
        JOB + "versions" + ARGS


rule metrics:
    input:
        **DATA,
        baseline=RUN + "/data/baseline.json",
        seed_texts=RUN + "/data/texts.json",
        rollouts=of_steps("rollout.json"),
        gates=of_steps("gate/{t}.json", per_type=True),
        validations=of_epochs("end/validation.json"),
        best=last_end("best"),
        test=RUN + "/final_test.json",
    output:
        metrics="metrics.json",
        curve="plots/validation.csv",
        gates_table="plots/gates.csv",
    log:
        RUN + "/log/metrics.log",
    params:
        cfg=cfg("seed", *(["rehearsal"] if REHEARSAL else [])),
        code=code("metrics"),
        io=io,
    shell:
        JOB + "metrics" + ARGS
