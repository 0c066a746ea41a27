#!/bin/sh
# What became of the Slurm job $1, in Snakemake's words.
if ! state=$(squeue --noheader --states=all --format=%T --job "$1" 2>&1); then
    case $state in
        *"Invalid job id"*) state= ;;
        *) echo running; exit ;;  # the controller does not answer just now
    esac
fi
# squeue forgets a job after MinJobAge
[ -n "$state" ] || state=$(sacct --allocations --noheader --parsable2 --format=State --jobs "$1" 2>&1)
case $state in
    COMPLETED) echo success ;;
    PENDING | RUNNING | CONFIGURING | COMPLETING | SUSPENDED | STOPPED | REQUEUE* | RESIZING | SIGNALING | STAGE_OUT)
        echo running ;;
    *)
        echo failed
        echo "Slurm job $1: ${state:-unknown to squeue and sacct}; see .snakemake/slurm/$1.log" >&2 ;;
esac
