"""The slow update at an epoch's end, in the order of SPEC §7; what does nothing says so in its artefact."""


# 1. Full validation R of the epoch's version.
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


# 2. With judges, soft scores of R's wrong answers; part of the run with slow.soft_validation.
rule soft_eval:
    input:
        **DATA,
        texts=after_steps("texts"),
        validation=f"{END}/validation.json",
        templates=JUDGE_TEMPLATES,
        videos=VIDEOS,
    output:
        soft=f"{END}/soft.json",
    log:
        f"{RUN}/log/e{{e}}.soft_eval.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("diagnose", "models.judge", "agent"),
        code=code("soft_eval"),
        io=io,
    shell:
        f"{JOB} soft_eval {ARGS}"


# 2. Hard, soft and mixed score of R.
rule scores:
    input:
        **DATA,
        validation=f"{END}/validation.json",
        soft=[f"{END}/soft.json"] if SOFT else [],
    output:
        scores=f"{END}/scores.json",
    log:
        f"{RUN}/log/e{{e}}.scores.log",
    params:
        cfg=cfg(),
        code=code("scores"),
        io=io,
    shell:
        f"{JOB} scores {ARGS}"


# 3. R's outcomes written back into what is known, whatever they are.
rule write_back:
    input:
        **DATA,
        state=after_steps("state"),
        validation=f"{END}/validation.json",
    output:
        state=f"{END}/observed_state.json",
    log:
        f"{RUN}/log/e{{e}}.write_back.log",
    params:
        cfg=cfg(),
        code=code("write_back"),
        io=io,
    shell:
        f"{JOB} write_back {ARGS}"


# 4. Probations settled: confirmed, still open, or rolled back.
rule probations:
    input:
        **DATA,
        state=f"{END}/observed_state.json",
        texts=after_steps("texts"),
        validation=f"{END}/validation.json",
    output:
        state=f"{END}/settled_state.json",
        texts=f"{END}/settled_texts.json",
        probation=f"{END}/probation.json",
    log:
        f"{RUN}/log/e{{e}}.probations.log",
    params:
        cfg=cfg(
            "slow.e_rollback",
            "slow.e_keep",
            "slow.e_drop",
            "slow.probation_epochs",
            "train.cooldown_steps",
        ),
        code=code("probations"),
        io=io,
    shell:
        f"{JOB} probations {ARGS}"


# 5. Best: the version that R has measured, if it is strictly better.
rule best:
    input:
        texts=after_steps("texts"),
        validation=f"{END}/validation.json",
        scores=f"{END}/scores.json",
        previous=lambda w: epoch_end(int(w.e) - 1, "best"),
    output:
        best=f"{END}/settled_best.json",
    log:
        f"{RUN}/log/e{{e}}.best.log",
    params:
        cfg=cfg(),
        code=code("best"),
        io=io,
    shell:
        f"{JOB} best {ARGS}"


# 6. Momentum: guidance in the skills that changed, if their gates let it in.
rule momentum:
    input:
        **DATA,
        start=lambda w: epoch_end(int(w.e) - 1, "texts"),
        texts=f"{END}/settled_texts.json",
        state=f"{END}/settled_state.json",
        templates=SLOW_TEMPLATES if BY_LLM else [],
        videos=VIDEOS if BY_LLM else [],
    output:
        momentum=f"{END}/momentum.json",
        texts=f"{END}/momentum_texts.json",
    log:
        f"{RUN}/log/e{{e}}.momentum.log",
    localrule: not BY_LLM
    resources:
        llm_slots=SLOTS if BY_LLM else 0,
    params:
        cfg=cfg("slow.momentum", "evolve.teacher", *(MOMENTUM_KEYS if BY_LLM else [])),
        code=code("momentum"),
        io=io,
    shell:
        f"{JOB} momentum {ARGS}"


# 7. System and tool prompts, evolved from the epoch's packs.
rule prompts:
    input:
        **DATA,
        texts=f"{END}/momentum_texts.json",
        diagnoses=diagnoses_of_epoch,
        templates=TEMPLATES if BY_LLM else [],
    output:
        prompts=f"{END}/prompts.json",
        texts=f"{END}/prompts_texts.json",
    log:
        f"{RUN}/log/e{{e}}.prompts.log",
    localrule: not BY_LLM
    resources:
        llm_slots=1 if BY_LLM else 0,
    params:
        cfg=cfg(
            "slow.evolve_prompts",
            "evolve.teacher",
            *(["evolve", "models.teacher"] if BY_LLM else []),
        ),
        code=code("prompts"),
        io=io,
    shell:
        f"{JOB} prompts {ARGS}"


# 8. Second full validation R2, if prompts changed: they are kept or reverted.
rule val_eval2:
    input:
        **DATA,
        momentum_texts=f"{END}/momentum_texts.json",
        prompts_texts=f"{END}/prompts_texts.json",
        prompts=f"{END}/prompts.json",
        validation=f"{END}/validation.json",
        best=f"{END}/settled_best.json",
        templates=JUDGE_TEMPLATES if SOFT else [],
        videos=VIDEOS if BY_LLM else [],
    output:
        validation2=f"{END}/validation2.json",
        best=f"{END}/best.json",
        texts=f"{END}/texts.json",
    log:
        f"{RUN}/log/e{{e}}.val_eval2.log",
    localrule: not BY_LLM
    resources:
        llm_slots=SLOTS if BY_LLM else 0,
    params:
        cfg=cfg(
            "models.student",
            "agent",
            "train.max_error_share",
            "slow.soft_validation",
            *(["diagnose", "models.judge"] if SOFT else ["diagnose.method"]),
        ),
        code=code("val_eval2"),
        io=io,
    shell:
        f"{JOB} val_eval2 {ARGS}"


# 9. Four-way held-out test, only observed; part of the run with slow.run_holdout_eval.
rule holdout:
    input:
        **DATA,
        seed_texts=f"{RUN}/data/texts.json",
        baseline=f"{RUN}/data/baseline.json",
        texts=after_steps("texts"),
        best=f"{END}/best.json",
        videos=VIDEOS,
    output:
        holdout=f"{END}/holdout.json",
    log:
        f"{RUN}/log/e{{e}}.holdout.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("models.student", "agent", "train.max_error_share"),
        code=code("holdout"),
        io=io,
    shell:
        f"{JOB} holdout {ARGS}"


# 9. What the epoch has brought.
rule epoch_report:
    input:
        start=lambda w: epoch_end(int(w.e) - 1, "state"),
        state=f"{END}/settled_state.json",
        validation=f"{END}/validation.json",
        scores=f"{END}/scores.json",
        probation=f"{END}/probation.json",
        momentum=f"{END}/momentum.json",
        prompts=f"{END}/prompts.json",
        validation2=f"{END}/validation2.json",
        best=f"{END}/best.json",
        texts=f"{END}/texts.json",
        holdout=[f"{END}/holdout.json"] if HOLDOUT else [],
    output:
        report=f"{END}/report.json",
    log:
        f"{RUN}/log/e{{e}}.epoch_report.log",
    params:
        cfg=cfg(),
        code=code("epoch_report"),
        io=io,
    shell:
        f"{JOB} epoch_report {ARGS}"


# 10. p̂ refreshed and accumulators emptied: the state that the next epoch starts from.
# It waits for the report, which it does not read: no epoch begins before the one before it is over.
rule epoch_end:
    input:
        **DATA,
        report=f"{END}/report.json",
        state=f"{END}/settled_state.json",
        momentum=f"{END}/momentum.json",
        momentum_texts=f"{END}/momentum_texts.json",
        prompts=f"{END}/prompts.json",
        prompts_texts=f"{END}/prompts_texts.json",
        validation2=f"{END}/validation2.json",
        best=f"{END}/best.json",
    output:
        state=f"{END}/state.json",
    log:
        f"{RUN}/log/e{{e}}.epoch_end.log",
    params:
        cfg=cfg("slow.gamma"),
        code=code("epoch_end"),
        io=io,
    shell:
        f"{JOB} epoch_end {ARGS}"
