#!/bin/sh
# SPDX-License-Identifier: MIT
# mpi.sh BUILD_FOLDER: what `--kinds mpi` costs a message: round trips of 8 bytes between two ranks on this machine, in ns by
# MPI_Wtime, not metered and metered in turn; medians of ROUNDS (5). A round trip is two sends and two receives, so four calls
# and eight probes. For each MPI that is installed. It needs root.
set -eu
dpm=$(realpath "$1")/dpm
rounds=${ROUNDS:-5}
count=${COUNT:-20000}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > trips.c << 'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, count = atoi(argv[1]);
    double word = 0, begin = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = -count / 10; i < count; i++) {
        if (i == 0)
            begin = MPI_Wtime();
        if (rank == 0)
            MPI_Send(&word, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&word, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&word, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.0f ns\n", (MPI_Wtime() - begin) / count * 1e9);
    MPI_Finalize();
    return 0;
}
END

median() {
    sed -n 's/^\([0-9]*\) ns$/\1/p' "$1" | sort -n | awk '{ list[NR] = $1 } END { print list[int((NR + 1) / 2)] }'
}

for name in openmpi mpich; do
    command -v mpicc.$name > compiler && command -v mpirun.$name > launcher || continue
    mpicc.$name -O2 -o trips trips.c
    rm -f plain metered
    round=0
    while [ $round -lt "$rounds" ]; do
        round=$((round + 1))
        mpirun.$name -n 2 ./trips "$count" >> plain 2> err
        rm -rf trace
        "$dpm" run --kinds mpi --ring 64M -o trace -- mpirun.$name -n 2 ./trips "$count" >> metered 2> err
    done
    plain=$(median plain) metered=$(median metered)
    echo "$name: a round trip $plain ns, metered $metered ns: +$((metered - plain)) ns, $(((metered - plain) / 4)) for each call"
done
