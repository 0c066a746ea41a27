"""The slow update at an epoch's end (SPEC §7): validation, probations, best, the next epoch's start."""


rule val_eval:
    input:
        **DATA,
        texts=after_steps("texts"),
        videos=VIDEOS,
    output:
        validation=f"{END}/validation.json",
    log:
        f"{RUN}/log/e{{e}}.val_eval.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("models.student", "agent", "train.max_error_share"),
        code=code("val_eval"),
        io=io,
    shell:
        f"{JOB} val_eval {ARGS}"


rule probation:
    input:
        **DATA,
        state=after_steps("state"),
        texts=after_steps("texts"),
        validation=f"{END}/validation.json",
    output:
        state=f"{END}/probation_state.json",
        texts=f"{END}/probation_texts.json",
        report=f"{END}/probation.json",
    log:
        f"{RUN}/log/e{{e}}.probation.log",
    params:
        cfg=cfg("slow", "train.cooldown_steps"),
        code=code("probation"),
        io=io,
    shell:
        f"{JOB} probation {ARGS}"


rule best:
    input:
        previous=lambda w: epoch_end(int(w.e) - 1, "best"),
        validation=f"{END}/validation.json",
        texts=after_steps("texts"),
    output:
        best=f"{END}/best.json",
    log:
        f"{RUN}/log/e{{e}}.best.log",
    params:
        cfg=cfg(),
        code=code("best"),
        io=io,
    shell:
        f"{JOB} best {ARGS}"


rule epoch_end:
    input:
        state=f"{END}/probation_state.json",
        texts=f"{END}/probation_texts.json",
        best=f"{END}/best.json",
    output:
        state=f"{END}/state.json",
        texts=f"{END}/texts.json",
    log:
        f"{RUN}/log/e{{e}}.epoch_end.log",
    params:
        cfg=cfg("slow"),
        code=code("epoch_end"),
        io=io,
    shell:
        f"{JOB} epoch_end {ARGS}"
