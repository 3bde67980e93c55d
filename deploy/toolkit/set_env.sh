# SPDX-License-Identifier: Apache-2.0
# Source this file: programs started from this shell use softnpu in place of the vendor's toolkit.
# The same as eval "$(softnpu env)", for scripts that source the vendor's file.
if [ -n "${ZSH_EVAL_CONTEXT-}" ]; then
    eval '_softnpu_home=${(%):-%x}'
elif [ -n "${BASH_SOURCE-}" ]; then
    _softnpu_home=$BASH_SOURCE
else # other shells do not know where this file is, but have it open
    _softnpu_home=
    for _softnpu_file in /proc/"$$"/fd/*; do
        _softnpu_file=$(readlink "$_softnpu_file" 2>/dev/null)
        case $_softnpu_file in
        */set_env.sh) _softnpu_home=$_softnpu_file ;;
        esac
    done
fi
_softnpu_home=$(cd "$(dirname -- "$_softnpu_home")" && pwd)
_softnpu_front() { # list, first entry
    case :$1: in
    :"$2":*) printf '%s\n' "$1" ;;
    ::) printf '%s\n' "$2" ;;
    *) printf '%s\n' "$2:$1" ;;
    esac
}
if [ -e "$_softnpu_home/lib64/libascendcl.so" ]; then
    export ASCEND_TOOLKIT_HOME="$_softnpu_home"
    export ASCEND_HOME_PATH="$_softnpu_home"
    export ASCEND_OPP_PATH="$_softnpu_home/opp"
    export ASCEND_AICPU_PATH="$_softnpu_home"
    export TOOLCHAIN_HOME="$_softnpu_home/toolkit"
    export PATH="$(_softnpu_front "$PATH" "$_softnpu_home/bin")"
    export LD_LIBRARY_PATH="$(_softnpu_front "${LD_LIBRARY_PATH-}" "$_softnpu_home/lib64")"
    export CMAKE_PREFIX_PATH="$(_softnpu_front "${CMAKE_PREFIX_PATH-}" "$_softnpu_home")"
    export PKG_CONFIG_PATH="$(_softnpu_front "${PKG_CONFIG_PATH-}" "$_softnpu_home/lib64/pkgconfig")"
    unset _softnpu_home _softnpu_file
    unset -f _softnpu_front
else
    echo "softnpu: set_env.sh cannot find its own path; source it with its full path, from bash or zsh." >&2
    unset _softnpu_home _softnpu_file
    unset -f _softnpu_front
    false
fi
