#!/bin/sh
# SPDX-License-Identifier: MIT
# state.sh BUILD_FOLDER: what it costs to read the state of the machine and of a cgroup of its own. Where none can be made,
# of the cgroups of this shell.
set -eu
build=$1
v1=$(awk '$3 == "cgroup" && ("," $4 ",") ~ ",cpu," { print $2; exit }' /proc/mounts)
if [ -n "$v1" ] && mkdir "$v1/dpm-state-$$" 2> /dev/null; then
    trap 'rmdir "$v1/dpm-state-$$"' EXIT
    sh -c "echo 0 > '$v1/dpm-state-$$/cgroup.procs'; exec '$build/bench/state'"
else
    "$build/bench/state"
fi
