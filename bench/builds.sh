#!/bin/sh
# SPDX-License-Identifier: MIT
# builds.sh BUILD_FOLDER: the price of `--kinds all,file` for a command that starts many short processes: make and gcc build 30
# objects and link them, on tmpfs and on a disk; seconds, and how many records each kind adds. PAIRS: how often (5).
set -eu
# shellcheck source=bench/quartiles.sh
. "$(dirname "$0")/quartiles.sh"
dpm=$(realpath "$1")/dpm

# seconds COMMAND...: how long it takes
seconds() {
    begin=$(date +%s%N)
    "$@" > /dev/null 2>&1
    echo "$begin $(date +%s%N)" | awk '{ printf "%.3f\n", ($2 - $1) / 1e9 }'
}

# prepare: the sources
prepare() {
    for i in $(seq 30); do
        printf '#include <stdio.h>\nint f%s(void) { return printf("%%d", %s); }\n' "$i" "$i" > "f$i.c"
    done
    printf 'int main(void) { return 0; }\n' > main.c
    cat > Makefile << 'END'
program: $(patsubst %.c,%.o,$(wildcard *.c))
	gcc -o $@ $^
%.o: %.c
	gcc -O1 -c -o $@ $<
clean:
	rm -f program *.o
END
}

# compare_in FOLDER
compare_in() {
    folder=$(mktemp -d "$1/dpm-builds.XXXXXX")
    cd "$folder"
    prepare
    for i in $(seq "${PAIRS:-5}"); do
        for kinds in none all all,file; do
            make -s clean
            if [ $kinds = none ]; then
                seconds make -s -j2 >> none
            else
                rm -rf trace
                # the meter is loaded before the command begins, so the command's own time is taken
                "$dpm" run --kinds $kinds -o trace -- sh -c 'date +%s%N > begin; make -s -j2; date +%s%N > end' > out 2> err
                paste -d ' ' begin end | awk '{ printf "%.3f\n", ($2 - $1) / 1e9 }' >> "$kinds"
                "$dpm" stats --json trace 2> err | jq .trace.events > "events.$kinds"
            fi
        done
    done
    for kinds in none all all,file; do
        printf '%-12s %-10s %s' "$1" "$kinds" "$(quartiles < "$kinds")"
        [ $kinds = none ] && echo || echo ", $(cat "events.$kinds") events"
    done
    cd /
    rm -rf "$folder"
}

compare_in /dev/shm
compare_in "${SCRATCH:-/var/tmp}"
