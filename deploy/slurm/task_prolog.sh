#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TaskProlog of Slurm (slurm.conf: TaskProlog=/etc/slurm/dynolog-task-prolog.sh): what it prints as "export NAME=VALUE"
# is in the environment of every task. Training processes on NPUs then look for the daemon of their node.
# Nothing is overwritten that the user has chosen.
[ -n "${MSMONITOR_USE_DAEMON+set}" ] || echo "export MSMONITOR_USE_DAEMON=1"
# PyTorch's own client only for users who ask: some releases of it abort at their start now and then.
if [ "${DYNOLOG_KINETO-}" = 1 ] && [ -z "${KINETO_USE_DAEMON+set}" ]; then
    echo "export KINETO_USE_DAEMON=1"
fi
exit 0
