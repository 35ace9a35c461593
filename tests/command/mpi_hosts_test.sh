#!/bin/sh
# SPDX-License-Identifier: MIT
# mpi_hosts_test.sh BUILD_FOLDER: ranks of Open MPI on three hosts (./dev test --all), metered by one dpm acquire --host: the messages
# between them are those that the program's own PMPI wrapper counts, each RECEIVE leads to its SEND on the other host, and the slow rank
# of a ring is what the others wait for.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
long_ones || skip_all "takes long, and needs Open MPI: only with ./dev test --all"
. "$here/meter.sh"
need_meter
need_programs ip ssh python3 jq nats-server unshare setpriv mpicc.openmpi mpirun.openmpi
hosts=$(realpath "$here/../../scripts/hosts")
dir=$scratch/hosts
chmod 755 "$scratch"

# shellcheck disable=SC2317 # called by trap
leave() {
    "$hosts" down "$dir"
    rm -rf "$scratch"
}
trap leave EXIT
"$hosts" up --owner $$ "$dir" web1 app1 db1 > up.log 2>&1 || skip_all "no hosts can be made: $(tail -n 1 up.log; rm -f up.log)"
rm -f up.log
dpm=$(realpath "$dpm")
shared=$dir/shared
cd "$scratch" || exit 1
export HOME="$scratch/home" XDG_STATE_HOME=
mkdir -p "$HOME"
rsh="ssh -F $dir/ssh_config"

# The launcher reaches the other hosts as any user of theirs would.
install -m 600 "$dir/key" "$shared/key"
cat > "$shared/agent" << END
#!/bin/sh
exec ssh -F none -i $shared/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "\$@"
END
chmod 755 "$shared/agent"
mpicc.openmpi -O1 -o "$shared/messages" "$here/../programs/mpi_messages.c" || skip_all "the program does not compile"
mpicc.openmpi -O1 -o "$shared/late" "$here/../programs/mpi_late.c" || skip_all "the program of late ranks does not compile"
mpicc.openmpi -O1 -o "$shared/ring" "$here/../programs/mpi_ring.c" || skip_all "the ring does not compile"

# meter NAME KINDS PROGRAM...: its three ranks, one on each host, into the traces NAME/HOST
meter() {
    name=$1
    kinds=$2
    shift 2
    : > "$name.err"
    "$dpm" acquire --rsh "$rsh" --remote-dpm "$dpm" --kinds "$kinds" --all --host web1 --host app1 --host db1 -o "$name" \
        --report "$name.report" > "$name.out" 2> "$name.err" &
    acquire=$!
    wait_for 120 grep -q '^dpm: metering ' "$name.err"
    # shellcheck disable=SC2029 # these are words for the other side
    timeout 120 ssh -F "$dir/ssh_config" web1 "cd $shared && HOME=$shared OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        mpirun.openmpi -n 3 -H web1,app1,db1 --mca plm_rsh_agent $shared/agent --mca btl self,tcp $*" > "$name.mpi" 2>&1
    check_equal "$name: it runs" "0" "$?"
    kill -INT $acquire
    wait $acquire
    check_equal "$name: and is metered" "0" "$?"
}

# sums TYPE: how many messages of MPI, and their bytes
sums() {
    "$dpm" dump --json --type "$1" messages/web1 messages/app1 messages/db1 2> dump.err | jq -cs '[length, (map(.bytes) | add // 0)]'
}

# truth FIELD: the sum that all ranks have written
truth() {
    cat "$shared"/truth.* | awk "{ sum += \$$1 } END { print sum }"
}

meter messages mpi ./messages
check_equal "messages sent, and their bytes" "[$(truth 1),$(truth 2)]" "$(sums send)"
check_equal "messages received, and their bytes" "[$(truth 3),$(truth 4)]" "$(sums receive)"
check "each receive leads to its send" grep -q "^Matched receives: $(truth 3) exact.$" messages.report

meter ring mpi ./ring 100 1
for way in web1:app1 app1:db1 db1:web1; do
    check "a ring: from ${way%:*} to ${way#*:}" grep -Eq "^ring\[[0-9]+\]@${way%:*} +ring\[[0-9]+\]@${way#*:} +100 +400 B" ring.report
done
check "... each leads to its send" grep -q '^Matched receives: 300 exact.$' ring.report
check "... its slow rank carries the critical path" grep -Eq '^Path  +ring\[[0-9]+\]@app1 carries ' ring.report

# Each is late by 200 ms; what passes over TCP in both directions tells how far the clocks are apart.
meter late all,mpi ./late ranks
"$dpm" dump --matched --type block late/web1 late/app1 late/db1 2> dump.err | sed 's/@web1/@0/g; s/@app1/@1/g; s/@db1/@2/g' |
    sed -n 's/^.* late\[[0-9]*\]@\([0-2]\) .* in MPI on \([A-Za-z_]*\),.* <- WAKEUP [0-9]* of late\[[0-9]*\]@\([0-2]\), collective.*/\1 \2 \3/p' |
    sort -u > waits
sort -u "$shared/expected" > expected
if [ "$(wc -l < expected)" -lt 5 ]; then
    skip "the late rank of each collective function" "other ranks were later, as they had no CPU"
else
    check_equal "the late rank of each collective function, on another host" "" "$(comm -23 expected waits)"
fi

finish
