# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion for dpm, printed by `dpm completion`. This part is the same in bash and zsh.

# _dpm_find pid|process|cgroup|unit: sets `found` to all of them on this machine. Kernel threads are
# left out: they have no command line.
_dpm_find() {
    local folder line
    found=()
    for folder in /proc/[0-9]*; do
        IFS= read -r -d '' line < "$folder/cmdline" || continue
        case $1 in
        pid) found+=("${folder#/proc/}") ;;
        process) IFS= read -r line < "$folder/comm" && found+=("$line") ;;
        *)
            while IFS= read -r line; do
                _dpm_find_in_cgroup "$1" "${line#*:*:}"
            done < "$folder/cgroup"
            ;;
        esac
    done 2> /dev/null
}

# _dpm_find_in_cgroup cgroup|unit PATH: a unit is any folder in the cgroup's path.
_dpm_find_in_cgroup() {
    local rest=$2
    [ "$1" = unit ] || found+=("$2")
    while [ "$1" = unit ] && [ -n "$rest" ]; do
        case ${rest##*/} in
        *.service | *.scope | *.slice | *.socket | *.mount | *.swap) found+=("${rest##*/}") ;;
        esac
        rest=${rest%/*}
    done
}
