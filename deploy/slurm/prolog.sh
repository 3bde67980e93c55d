#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prolog for Slurm (slurm.conf: Prolog=/etc/slurm/dynolog-prolog.sh): starts the daemon before the job's first process.
#
# A failing prolog drains the node, which a monitoring problem must not do. This one therefore always succeeds, logs
# problems to syslog, and waits only a few seconds.
# DYNOLOG_UNIT, DYNOLOG_FLAGFILE and DYNOLOG_WAIT_S override the defaults of the package.
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
    timeout "$wait_s" systemctl start "$unit" || say "cannot start $unit"
elif command -v dynolog >/dev/null 2>&1; then
    # Without systemd: start a daemon that outlives the job and serves the next one.
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
