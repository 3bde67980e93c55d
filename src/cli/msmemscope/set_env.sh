# SPDX-License-Identifier: Apache-2.0
# Source this file: puts this installation's python and bin first in PYTHONPATH and PATH, and removes entries of other
# installations (those that contain the word msmemscope).
_msmemscope_front() { # list, new first entry
    _msmemscope_rest=$1: _msmemscope_kept=
    while [ -n "$_msmemscope_rest" ]; do
        case ${_msmemscope_rest%%:*} in
        '' | *msmemscope*) ;;
        *) _msmemscope_kept=$_msmemscope_kept:${_msmemscope_rest%%:*} ;;
        esac
        _msmemscope_rest=${_msmemscope_rest#*:}
    done
    printf '%s\n' "$2$_msmemscope_kept"
}
if [ -n "${ZSH_EVAL_CONTEXT-}" ]; then
    eval '_msmemscope_home=${(%):-%x}'
elif [ -n "${BASH_SOURCE-}" ]; then
    _msmemscope_home=$BASH_SOURCE
else # other shells do not know where this file is, but have it open
    _msmemscope_home=
    for _msmemscope_rest in /proc/"$$"/fd/*; do
        _msmemscope_rest=$(readlink "$_msmemscope_rest" 2>/dev/null)
        case $_msmemscope_rest in
        */set_env.sh) _msmemscope_home=$_msmemscope_rest ;;
        esac
    done
fi
_msmemscope_home=$(cd "$(dirname -- "$_msmemscope_home")" && pwd)
if [ -e "$_msmemscope_home/bin/msmemscope" ]; then
    export PYTHONPATH="$(_msmemscope_front "${PYTHONPATH-}" "$_msmemscope_home/python")"
    export PATH="$(_msmemscope_front "$PATH" "$_msmemscope_home/bin")"
    unset _msmemscope_home _msmemscope_rest _msmemscope_kept
    unset -f _msmemscope_front
else
    echo "[msmemscope] ERROR: set_env.sh cannot find its own path; source it with its full path, from bash or zsh." >&2
    unset _msmemscope_home _msmemscope_rest _msmemscope_kept
    unset -f _msmemscope_front
    false
fi
