# Source this file: puts this installation's python and bin first in PYTHONPATH and PATH, and takes entries of other
# installations (with the word msmemscope in them) out.
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
else
    _msmemscope_home=${BASH_SOURCE-$0}
fi
_msmemscope_home=$(cd "$(dirname -- "$_msmemscope_home")" && pwd)
export PYTHONPATH="$(_msmemscope_front "${PYTHONPATH-}" "$_msmemscope_home/python")"
export PATH="$(_msmemscope_front "$PATH" "$_msmemscope_home/bin")"
unset -f _msmemscope_front
unset _msmemscope_home _msmemscope_rest _msmemscope_kept
