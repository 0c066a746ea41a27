"""The slow update at an epoch's end (SPEC §7): validation, probations, best, the next epoch's start."""


rule val_eval:
    input:
        **DATA,
        texts=after_steps("texts"),
    output:
        validation=END + "/validation.json",
    log:
        RUN + "/log/e{e}.val_eval.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("models.student", "agent", "train.max_error_share"),
        code=code("val_eval"),
        io=io,
    shell:
        JOB + "val_eval" + ARGS


rule probation:
    input:
        **DATA,
        state=after_steps("state"),
        texts=after_steps("texts"),
        validation=END + "/validation.json",
    output:
        state=END + "/probation_state.json",
        texts=END + "/probation_texts.json",
        report=END + "/probation.json",
    log:
        RUN + "/log/e{e}.probation.log",
    params:
        cfg=cfg("slow", "train.cooldown_steps"),
        code=code("probation"),
        io=io,
    shell:
        JOB + "probation" + ARGS


rule best:
    input:
        previous=lambda w: epoch_end(int(w.e) - 1, "best"),
        validation=END + "/validation.json",
        texts=after_steps("texts"),
    output:
        best=END + "/best.json",
    log:
        RUN + "/log/e{e}.best.log",
    params:
        cfg=cfg(),
        code=code("best"),
        io=io,
    shell:
        JOB + "best" + ARGS


rule epoch_end:
    input:
        state=END + "/probation_state.json",
        texts=END + "/probation_texts.json",
        best=END + "/best.json",
    output:
        state=END + "/state.json",
        texts=END + "/texts.json",
    log:
        RUN + "/log/e{e}.epoch_end.log",
    params:
        cfg=cfg("slow"),
        code=code("epoch_end"),
        io=io,
    shell:
        JOB + "epoch_end" + ARGS
