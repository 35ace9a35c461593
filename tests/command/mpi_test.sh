#!/bin/sh
# SPDX-License-Identifier: MIT
# mpi_test.sh BUILD_FOLDER: `--kinds mpi`, with Open MPI and MPICH (./dev test --all): the messages of a program are those that
# its own PMPI wrapper counts, by ranks and in bytes, each RECEIVE leads to its SEND, and what spins is no work.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
. "$here/meter.sh"
long_ones || skip_all "./dev test --all"
[ "$(id -u)" = 0 ] || skip_all "must be root to probe libraries"
need_meter
cd "$scratch" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# sums TRACE TYPE: how many messages, and their bytes
sums() {
    "$dpm" dump --json --type "$2" "$1" | jq -cs '[length, (map(.bytes) | add // 0)]'
}

# truth FIELD: the sum that all ranks have written; 1 sent, 2 bytes of these, 3 received, 4 bytes of these
truth() {
    cat truth.* | awk "{ sum += \$$1 } END { print sum }"
}

# late NAME: a rank that is late in a collective function is what the others wait for
late() {
    name=$1
    mpicc.$name -O1 -o "late.$name" "$here/../programs/mpi_late.c" || {
        fail "$name: the program of late ranks compiles"
        return
    }
    # shellcheck disable=SC2086
    "$dpm" run --kinds mpi -o "late.$name.trace" -- $launch "./late.$name" > out 2> err || fail "$name: it runs" "$(cat err)"
    "$dpm" dump --matched --type block "late.$name.trace" |
        sed -n 's/^.* late[.a-z]*\[\([0-9]*\)\] .* in MPI on \([A-Za-z_]*\),.* <- WAKEUP [0-9]* of late[.a-z]*\[\([0-9]*\)\], collective.*/\1 \2 \3/p' |
        sort -u > waits
    sort -u expected > late
    if [ "$(wc -l < late)" -lt 5 ]; then
        skip "$name: the late rank of each collective function" "other ranks were later, as they had no CPU"
        return
    fi
    check_equal "$name: the late rank of each collective function" "" "$(comm -23 late waits)"
}

# threads NAME: several threads of a rank send and receive at once; each message has the size of the one that it was sent as
threads() {
    name=$1
    mpicc.$name -O1 -pthread -o "threads.$name" "$here/../programs/mpi_threads.c" || {
        fail "$name: the program with threads compiles"
        return
    }
    # shellcheck disable=SC2086
    "$dpm" run --kinds mpi -o "threads.$name.trace" -- $launch "./threads.$name" > out 2> err || fail "$name: threads run" "$(cat err)"
    if grep -q none out; then
        skip "$name: threads" "it has no MPI_THREAD_MULTIPLE"
        return
    fi
    check_equal "$name: threads: messages sent, and their bytes" "$(cat out)" "$(sums "threads.$name.trace" send)"
    check_equal "$name: threads: ... and received" "$(cat out)" "$(sums "threads.$name.trace" receive)"
    "$dpm" dump --json --matched --type send,receive "threads.$name.trace" | jq -s '
        (map(select(.event == "SEND") | {key: "\(.stream) \(.sequence)", value: .bytes}) | from_entries) as $sent |
        map(select(.event == "RECEIVE")) |
        {count: length, right: map(select(.bytes as $bytes | (.edges | length) == 1 and
            .edges[0].kind == "exact" and $sent["\(.edges[0].stream) \(.edges[0].sequence)"] == $bytes)) | length}' > edges
    check "$name: threads: each receive leads to its send" jq -e '.count > 0 and .right == .count' edges
}

# fortran NAME: its functions call those of C
fortran() {
    name=$1
    if ! mpifort.$name -o "fortran.$name" fortran.f90 > out 2>&1; then
        skip "$name: a program in Fortran" "there is no compiler for it"
        return
    fi
    # shellcheck disable=SC2086
    "$dpm" run --kinds mpi -o "fortran.$name.trace" -- $launch "./fortran.$name" > out 2> err || fail "$name: Fortran runs" "$(cat err)"
    "$dpm" stats "fortran.$name.trace" > stats
    check "$name: a program in Fortran: each receive leads to its send" grep -q "^Matched receives: 50 exact.$" stats
}
cat > fortran.f90 << 'END'
program messages
  use mpi
  integer :: rank, error, i, word, status(MPI_STATUS_SIZE)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  do i = 1, 50
    if (rank == 0) call MPI_Send(word, 1, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, error)
    if (rank == 1) call MPI_Recv(word, 1, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, status, error)
  end do
  call MPI_Finalize(error)
end program
END

# try NAME: all with one MPI
try() {
    name=$1
    mpicc.$name -O1 -o "messages.$name" "$here/../programs/mpi_messages.c" || {
        fail "$name: the program compiles"
        return
    }
    launch="mpirun.$name -n 3"
    [ "$name" = mpich ] || launch="$launch --oversubscribe"
    rm -f truth.*
    # shellcheck disable=SC2086
    "$dpm" run --kinds mpi -o "$name.trace" -- $launch "./messages.$name" > out 2> err || fail "$name: it runs" "$(cat err)"
    check_equal "$name: messages sent, and their bytes" "[$(truth 1),$(truth 2)]" "$(sums "$name.trace" send)"
    check_equal "$name: messages received, and their bytes" "[$(truth 3),$(truth 4)]" "$(sums "$name.trace" receive)"
    "$dpm" stats "$name.trace" > stats
    check "$name: each receive leads to its send" grep -q "^Matched receives: $(truth 3) exact.$" stats
    "$dpm" dump "$name.trace" > dumped
    check "$name: ranks are named" grep -q "mpi rank 0 > rank 1 " dumped
    # those of which two or more of three ranks are members: the same, twice, even ranks, these again, node, line
    check_equal "$name: ... and in other communicators" 6 \
        "$(sed -n 's/.* mpi rank 0 of \([0-9a-f]*\) > .*/\1/p' dumped | sort -u | wc -l)"
    check_not "$name: all are known" grep -q "how their communicator was made" err
    check "$name: what a collective function waits for is named" grep -q "MPI_Barrier" dumped
    check_equal "$name: no call is in doubt" 0 "$("$dpm" dump --json "$name.trace" | grep -c '"older"')"
    for how in cancel anybody; do
        # shellcheck disable=SC2086
        "$dpm" run --kinds mpi -o "$how.$name.trace" -- $launch "./messages.$name" $how > out 2> err || fail "$name, $how: it runs" "$(cat err)"
        "$dpm" stats "$how.$name.trace" > stats
        check "$name, $how: what follows a message that is not recorded is not exact" grep -q "^Matched receives: .*inferred" stats
    done
    "$dpm" dump --type block "anybody.$name.trace" > dumped
    check "$name: a receive that is not recorded ends in a BLOCK" grep -q "MPI_Recv, of which it spun" dumped
    check_equal "$name: ... of each rank but the sender" 2 "$(grep -c MPI_Recv dumped)"
    late "$name"
    threads "$name"
    fortran "$name"
    check_equal "$name: paths end" "$("$dpm" dump --json --type path "$name.trace" | jq -s length)" \
        "$("$dpm" dump --json --type destroypath "$name.trace" | jq -s length)"
}

for name in openmpi mpich; do
    if command -v mpicc.$name > /dev/null && command -v mpirun.$name > /dev/null; then
        try $name
    else
        skip "$name" "it is not installed"
    fi
done

"$dpm" run --meter ptrace --kinds mpi -o ptrace.trace -- true > out 2> err
check_equal "the ptrace meter cannot" 1 $?
check "... and says what to do" grep -qF -- "--kinds mpi needs the kernel meter, loaded by dpm itself: run dpm as root" err
"$dpm" run --kinds mpi -o none.trace -- true > out 2> err
check_equal "a program without MPI has no messages of it" 0 "$("$dpm" dump --json --type send none.trace | jq -s length)"
finish
