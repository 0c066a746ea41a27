"""One step: rollouts of a batch → diagnosis → per type a candidate and its gate → next state."""


checkpoint plan:
    input:
        **DATA,
        state=lambda w: epoch_end(int(w.e) - 1, "state"),
    output:
        plan=EPOCH + "/plan.json",
    log:
        RUN + "/log/e{e}.plan.log",
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
        JOB + "plan" + ARGS


rule rollout:
    input:
        **DATA,
        plan=EPOCH + "/plan.json",
        texts=before("texts"),
    output:
        rollout=STEP + "/rollout.json",
    log:
        RUN + "/log/e{e}.s{s}.rollout.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("models.student", "agent", "train.max_error_share"),
        code=code("rollout"),
        io=io,
    shell:
        JOB + "rollout" + ARGS


rule diagnose:
    input:
        **DATA,
        rollout=STEP + "/rollout.json",
        texts=before("texts"),
    output:
        diagnosis=STEP + "/diagnosis.json",
    log:
        RUN + "/log/e{e}.s{s}.diagnose.log",
    params:
        cfg=cfg(),
        code=code("diagnose"),
        io=io,
    shell:
        JOB + "diagnose" + ARGS


TEMPLATES = sorted(
    path.as_posix() for path in Path(CONFIG.evolve.templates).glob("*.md")
)
BY_LLM = CONFIG.evolve.teacher == "llm"


rule evolve:
    input:
        **DATA,
        plan=EPOCH + "/plan.json",
        state=before("state"),
        texts=before("texts"),
        diagnosis=STEP + "/diagnosis.json",
        templates=TEMPLATES if BY_LLM else [],
    output:
        candidate=STEP + "/candidate/{t}.json",
    log:
        RUN + "/log/e{e}.s{s}.{t}.evolve.log",
    resources:
        llm_slots=1 if BY_LLM else 0,
    params:
        cfg=cfg("seed", "evolve", *(["models.teacher"] if BY_LLM else [])),
        code=code("evolve"),
        io=io,
    shell:
        JOB + "evolve" + ARGS


rule gate:
    input:
        **DATA,
        state=before("state"),
        texts=before("texts"),
        candidate=STEP + "/candidate/{t}.json",
    output:
        gate=STEP + "/gate/{t}.json",
    log:
        RUN + "/log/e{e}.s{s}.{t}.gate.log",
    resources:
        llm_slots=SLOTS,
    params:
        cfg=cfg("seed", "gate", "models.student", "agent"),
        code=code("gate"),
        io=io,
    shell:
        JOB + "gate" + ARGS


def gates_of_step(w):
    types = plan(w.e)["batches"][int(w.s) - 1]["types"]
    return [f"{RUN}/e{w.e}/s{w.s}/gate/{t}.json" for t in types]


rule settle:
    input:
        **DATA,
        state=before("state"),
        texts=before("texts"),
        rollout=STEP + "/rollout.json",
        gates=gates_of_step,
    output:
        state=STEP + "/state.json",
        texts=STEP + "/texts.json",
    log:
        RUN + "/log/e{e}.s{s}.settle.log",
    params:
        cfg=cfg(),
        code=code("settle"),
        io=io,
    shell:
        JOB + "settle" + ARGS
