"""Prepare: questions → pools → seed texts → baseline rollouts of all questions → first state."""


rule questions:
    input:
        source=[] if REHEARSAL else CONFIG.data.questions,
    output:
        questions=DATA["questions"],
    log:
        f"{RUN}/log/questions.log",
    params:
        cfg=cfg("data.questions", *(["rehearsal"] if REHEARSAL else [])),
        code=code("questions"),
        io=io,
    shell:
        f"{JOB} questions {ARGS}"


rule pools:
    input:
        questions=DATA["questions"],
    output:
        pools=DATA["pools"],
    log:
        f"{RUN}/log/pools.log",
    params:
        cfg=cfg(
            "seed",
            "task_types",
            "data.pools",
            "train.eval_min_per_class",
            "train.trainable_min_units",
        ),
        code=code("pools"),
        io=io,
    shell:
        f"{JOB} pools {ARGS}"


rule seed:
    input:
        files=seed_files(),
        pools=DATA["pools"],
    output:
        texts=f"{RUN}/data/texts.json",
    log:
        f"{RUN}/log/seed.log",
    params:
        cfg=cfg("data.skills", "data.prompts", "data.own_skill_per_type"),
        code=code("seed"),
        io=io,
    shell:
        f"{JOB} seed {ARGS}"


if LOOKED_UP:

    rule videos:
        input:
            files=LOOKED_UP,
        output:
            videos=VIDEOS[0],
        log:
            f"{RUN}/log/videos.log",
        params:
            cfg=cfg(),
            code=code("videos"),
            io=io,
        shell:
            f"{JOB} videos {ARGS}"


rule baseline:
    input:
        questions=DATA["questions"],
        texts=f"{RUN}/data/texts.json",
        stored=STORED,
        videos=VIDEOS,
    output:
        rollout=f"{RUN}/data/baseline.json",
    log:
        f"{RUN}/log/baseline.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("models.student", "agent", "train.max_error_share"),
        code=code("baseline"),
        io=io,
    shell:
        f"{JOB} baseline {ARGS}"


# Part of the run with slow.soft_validation and judges, as soft_eval is.
rule soft_seed:
    input:
        **DATA,
        texts=f"{RUN}/data/texts.json",
        baseline=f"{RUN}/data/baseline.json",
        templates=JUDGE_TEMPLATES,
        videos=VIDEOS,
    output:
        soft=f"{RUN}/data/soft.json",
    log:
        f"{RUN}/log/soft_seed.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("diagnose", "models.judge", "agent"),
        code=code("soft_seed"),
        io=io,
    shell:
        f"{JOB} soft_seed {ARGS}"


rule init:
    input:
        **DATA,
        texts=f"{RUN}/data/texts.json",
        baseline=f"{RUN}/data/baseline.json",
        soft=[f"{RUN}/data/soft.json"] if SOFT else [],
    output:
        state=f"{RUN}/init/state.json",
        best=f"{RUN}/init/best.json",
    log:
        f"{RUN}/log/init.log",
    params:
        cfg=cfg("seed", "train"),
        code=code("init"),
        io=io,
    shell:
        f"{JOB} init {ARGS}"
