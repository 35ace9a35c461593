# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# quartiles.sh: shared by the shell benchmarks.

# quartiles: of the numbers on standard input, one a line: median (first quartile - third).
quartiles() {
    sort -n | awk '{ value[NR] = $1 }
        END { printf "%.3f  (%.3f - %.3f)\n", value[int((NR + 1) / 2)], value[int((NR + 3) / 4)],
                     value[int((3 * NR + 1) / 4)] }'
}
