"""One step: rollouts of a batch → diagnosis → per type a candidate and its gate → next state."""


checkpoint plan:
    input:
        **DATA,
        state=lambda w: epoch_end(int(w.e) - 1, "state"),
    output:
        plan=f"{EPOCH}/plan.json",
    log:
        f"{RUN}/log/e{{e}}.plan.log",
    params:
        cfg=cfg(
            "seed",
            "train",
            "evolve.edit_budget_start",
            "evolve.edit_budget_end",
            "evolve.schedule",
        ),
        code=code("plan"),
        io=io,
    shell:
        f"{JOB} plan {ARGS}"


rule rollout:
    input:
        **DATA,
        plan=f"{EPOCH}/plan.json",
        texts=before("texts"),
        videos=VIDEOS,
    output:
        rollout=f"{STEP}/rollout.json",
    log:
        f"{RUN}/log/e{{e}}.s{{s}}.rollout.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("models.student", "agent", "train.max_error_share"),
        code=code("rollout"),
        io=io,
    shell:
        f"{JOB} rollout {ARGS}"


rule diagnose_step:
    input:
        **DATA,
        rollout=f"{STEP}/rollout.json",
        texts=before("texts"),
        templates=JUDGE_TEMPLATES,
        videos=VIDEOS if BY_JUDGES else [],
    output:
        diagnosis=f"{STEP}/diagnosis.json",
    log:
        f"{RUN}/log/e{{e}}.s{{s}}.diagnose.log",
    localrule: not BY_JUDGES
    resources:
        llm_slots=SLOTS if BY_JUDGES else 0,
    params:
        cfg=cfg(*DIAGNOSE_KEYS),
        code=code("diagnose_step"),
        io=io,
    shell:
        f"{JOB} diagnose_step {ARGS}"


rule evolve:
    input:
        **DATA,
        plan=f"{EPOCH}/plan.json",
        state=before("state"),
        texts=before("texts"),
        diagnosis=f"{STEP}/diagnosis.json",
        templates=TEMPLATES,
    output:
        candidate=f"{STEP}/candidate/{{t}}.json",
    log:
        f"{RUN}/log/e{{e}}.s{{s}}.{{t}}.evolve.log",
    localrule: not BY_LLM
    resources:
        llm_slots=1 if BY_LLM else 0,
    params:
        cfg=cfg("seed", "evolve", *(["models.teacher"] if BY_LLM else [])),
        code=code("evolve"),
        io=io,
    shell:
        f"{JOB} evolve {ARGS}"


rule gate:
    input:
        **DATA,
        state=before("state"),
        texts=before("texts"),
        candidate=f"{STEP}/candidate/{{t}}.json",
        videos=VIDEOS,
    output:
        gate=f"{STEP}/gate/{{t}}.json",
    log:
        f"{RUN}/log/e{{e}}.s{{s}}.{{t}}.gate.log",
    resources:
        llm_slots=gate_share,
    params:
        cfg=cfg("seed", "gate", "models.student", "agent"),
        code=code("gate"),
        io=io,
    shell:
        f"{JOB} gate {ARGS}"


rule settle:
    input:
        **DATA,
        state=before("state"),
        texts=before("texts"),
        rollout=f"{STEP}/rollout.json",
        gates=gates_of_step,
    output:
        state=f"{STEP}/state.json",
        texts=f"{STEP}/texts.json",
    log:
        f"{RUN}/log/e{{e}}.s{{s}}.settle.log",
    params:
        cfg=cfg(),
        code=code("settle"),
        io=io,
    shell:
        f"{JOB} settle {ARGS}"
