"""Prepare: questions → pools → seed texts → baseline rollouts of all questions → first state."""


def seed_files():
    skills = sorted(Path(CONFIG.data.skills).glob("*/SKILL.md"))
    return [
        path.as_posix() for path in [*skills, Path(CONFIG.data.prompts) / "system.md"]
    ]


rule questions:
    input:
        source=[] if REHEARSAL else CONFIG.data.questions,
    output:
        questions=DATA["questions"],
    log:
        RUN + "/log/questions.log",
    params:
        cfg=cfg("data.questions", *(["rehearsal"] if REHEARSAL else [])),
        code=code("questions"),
        io=io,
    shell:
        JOB + "questions" + ARGS


rule pools:
    input:
        questions=DATA["questions"],
    output:
        pools=DATA["pools"],
    log:
        RUN + "/log/pools.log",
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
        JOB + "pools" + ARGS


rule seed:
    input:
        files=seed_files(),
        pools=DATA["pools"],
    output:
        texts=RUN + "/data/texts.json",
    log:
        RUN + "/log/seed.log",
    params:
        cfg=cfg("data.skills", "data.prompts", "data.own_skill_per_type"),
        code=code("seed"),
        io=io,
    shell:
        JOB + "seed" + ARGS


rule baseline:
    input:
        questions=DATA["questions"],
        texts=RUN + "/data/texts.json",
    output:
        rollout=RUN + "/data/baseline.json",
    log:
        RUN + "/log/baseline.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("models.student", "agent", "train.max_error_share"),
        code=code("baseline"),
        io=io,
    shell:
        JOB + "baseline" + ARGS


rule init:
    input:
        **DATA,
        texts=RUN + "/data/texts.json",
        baseline=RUN + "/data/baseline.json",
    output:
        state=RUN + "/init/state.json",
        best=RUN + "/init/best.json",
    log:
        RUN + "/log/init.log",
    params:
        cfg=cfg("seed", "train"),
        code=code("init"),
        io=io,
    shell:
        JOB + "init" + ARGS
