#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prolog of Slurm (slurm.conf: Prolog=/etc/slurm/dynolog-prolog.sh): the daemon runs before the job's first process does.
#
# A prolog that fails drains the node; monitoring is no reason for that. So this one says in the system's log what went
# wrong and always succeeds, and it waits a few seconds at most.
# DYNOLOG_UNIT, DYNOLOG_FLAGFILE, DYNOLOG_WAIT_S: other names and times than the package's.
unit=${DYNOLOG_UNIT:-dynolog.service}
flagfile=${DYNOLOG_FLAGFILE:-/etc/dynolog.gflags}
wait_s=${DYNOLOG_WAIT_S:-5}

say() {
    logger -t dynolog-prolog "job ${SLURM_JOB_ID:-?}: $*" 2>/dev/null || true
}

answers() {
    dyno --certs-dir "${DYNOLOG_CERTS_DIR:-NO_CERTS}" status >/dev/null 2>&1
}

answers && exit 0
if command -v systemctl >/dev/null 2>&1 && systemctl cat "$unit" >/dev/null 2>&1; then
    timeout "$wait_s" systemctl start "$unit" || say "$unit does not start"
elif command -v dynolog >/dev/null 2>&1; then
    # A node without systemd: a daemon of the job's own, which outlives it and serves the next one.
    if [ -r "$flagfile" ]; then
        set -- "--flagfile=$flagfile"
    else
        set -- --enable_ipc_monitor
    fi
    setsid dynolog "$@" </dev/null >/dev/null 2>&1 &
else
    say "dynolog is not installed"
    exit 0
fi
tries=0
until answers; do
    tries=$((tries + 1))
    if [ "$tries" -gt $((wait_s * 5)) ]; then
        say "dynolog does not answer"
        break
    fi
    sleep 0.2
done
exit 0
