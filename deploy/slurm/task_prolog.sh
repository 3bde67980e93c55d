#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TaskProlog for Slurm (slurm.conf: TaskProlog=/etc/slurm/dynolog-task-prolog.sh): Slurm adds the variables printed as
# "export NAME=VALUE" to the environment of every task. Training processes on NPUs then connect to the daemon of their
# node. Variables set by the user are not overwritten.
[ -n "${MSMONITOR_USE_DAEMON+set}" ] || echo "export MSMONITOR_USE_DAEMON=1"
# PyTorch's own client only on request: some releases occasionally abort at start.
if [ "${DYNOLOG_KINETO-}" = 1 ] && [ -z "${KINETO_USE_DAEMON+set}" ]; then
    echo "export KINETO_USE_DAEMON=1"
fi
exit 0
