"""Beside training (SPEC §8): infer, eval, diagnose, promote. They read a run and change nothing of it."""


wildcard_constraints:
    d="[A-Za-z0-9._-]+",


# The training's artefact of what an agent may look up is not touched either
LOOKED_UP_NOW = [f"{RUN}/{MODES}/videos.json"] if LOOKED_UP else []

if LOOKED_UP:

    rule videos_now:
        input:
            files=LOOKED_UP,
        output:
            videos=LOOKED_UP_NOW[0],
        log:
            f"{RUN}/log/videos_now.log",
        params:
            cfg=cfg(),
            code=code("videos"),
            io=io,
        shell:
            f"{JOB} videos {ARGS}"


# --- targets ----------------------------------------------------------------------
rule infer:
    input:
        videos=LOOKED_UP_NOW,
    output:
        predictions=f"{INFER}/predictions.jsonl",
        rollout=f"{INFER}/rollout.json",
        version=f"{INFER}/version.json",
        questions=f"{INFER}/questions.jsonl",
    log:
        f"{RUN}/log/infer.log",
    resources:
        llm_slots=SLOTS,
    params:
        run=digests(of_infer),
        cfg=cfg(
            "modes.types",
            "modes.first",
            "models.student",
            "agent",
            "train.max_error_share",
        ),
        code=code("infer"),
        io=io_with(of_infer),
    shell:
        f"{JOB} infer {ARGS}"


rule eval:
    input:
        videos=LOOKED_UP_NOW,
    output:
        report=f"{EVAL}/report.json",
        table=f"{EVAL}/report.txt",
        rollout=f"{EVAL}/rollout.json",
        version=f"{EVAL}/version.json",
    log:
        f"{RUN}/log/eval.log",
    resources:
        llm_slots=SLOTS,
    params:
        run=digests(of_eval),
        cfg=cfg("models.student", "agent", "train.max_error_share"),
        code=code("eval"),
        io=io_with(of_eval),
    shell:
        f"{JOB} eval {ARGS}"


rule diagnose_rollouts:
    input:
        templates=JUDGE_TEMPLATES,
        videos=LOOKED_UP_NOW if BY_JUDGES else [],
    output:
        diagnosis=f"{DIAGNOSE}/{{d}}/diagnosis.json",
    log:
        f"{RUN}/log/diagnose.{{d}}.log",
    localrule: not BY_JUDGES
    resources:
        llm_slots=SLOTS if BY_JUDGES else 0,
    params:
        run=digests(of_diagnosis),
        cfg=cfg(*DIAGNOSE_KEYS),
        code=code("diagnose_rollouts"),
        io=io_with(of_diagnosis),
    shell:
        f"{JOB} diagnose_rollouts {ARGS}"


rule diagnose:
    input:
        diagnoses=diagnoses,
    output:
        summary=f"{DIAGNOSE}/summary.md",
    log:
        f"{RUN}/log/diagnose.log",
    params:
        cfg=cfg(),
        code=code("diagnose"),
        io=io,
    shell:
        f"{JOB} diagnose {ARGS}"


rule promote:
    input:
        version=f"{EVAL}/version.json",
        rollout=f"{EVAL}/rollout.json",
    output:
        # The note is the first to be written: a folder without it is somebody else's
        seed=f"{SEED}/seed.json",
        questions=f"{SEED}/questions.jsonl",
        baseline=f"{SEED}/baseline.json",
        skills=directory(f"{SEED}/skills"),
        prompts=directory(f"{SEED}/prompts"),
    log:
        f"{RUN}/log/promote.log",
    params:
        run=digests(of_promote),
        cfg=cfg("run", "models.student", "agent"),
        code=code("promote"),
        io=io_with(of_promote),
    shell:
        f"{JOB} promote {ARGS}"
