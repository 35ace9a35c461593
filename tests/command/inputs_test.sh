#!/bin/sh
# SPDX-License-Identifier: MIT
# inputs_test.sh BUILD_FOLDER: files between processes: which process read what another one had written. Two cats, with both
# meters; a build, whose files are those that make and the compiler name; names with everything in them; a database; files that are
# mapped, cut and renamed; many files. And processes that share memory.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_meter
cd "$scratch" || exit 1

# inputs TRACE: writer, reader, files, bytes and name of each row, without the pids
inputs() {
    "$dpm" stats --json "$1" 2> stats.err | jq -r '(.processes | map({(.id | tostring): .name}) | add) as $name |
        .inputs[] | "\($name[.from | tostring]) \($name[.to | tostring]) \(.files) \(.bytes) \(.file)"'
}

# ---- two cats ----

echo "some text" > f1
for meter in kernel ptrace; do
    "$dpm" run --meter $meter --kinds file -o cats.trace -- sh -c 'cat f1 > f2; cat f2 > f3' > out 2> err
    check_equal "$meter: cat f1 > f2; cat f2 > f3 has one arc" "cat cat 1 10 $PWD/f2" "$(inputs cats.trace)"
    check_equal "... from the first to the second" true \
        "$("$dpm" stats --json cats.trace 2> stats.err | jq '.inputs[0].from < .inputs[0].to')"
    check_equal "... which is no message" "0 0 1" "$("$dpm" stats --json cats.trace 2> stats.err |
        jq -r '"\([.processes[].sent.messages] | add) \(.trace.matching.exact) \(.trace.matching.files)"')"
    "$dpm" dump --matched --type read cats.trace > dumped 2> dump.err
    check "... and leads from a WRITE to a READ" grep -qE "READ .* <- WRITE [0-9]+ of cat\[[0-9]+\], 10 bytes, file$" dumped
    "$dpm" graph -o cats.dot cats.trace > out 2> err
    check "... in the picture, too" grep -q 'file, inferred\|10 bytes, file' cats.dot
done

# ---- a build ----

if command -v make > /dev/null && command -v gcc > /dev/null; then
    mkdir build
    for i in $(seq 30); do
        header=plain.h
        [ $((i % 3)) != 0 ] || header=made.h
        printf '#include "%s"\nint f%s(void) { return N + %s; }\n' $header "$i" "$i" > "build/f$i.c"
    done
    printf '#define N 1\n' > build/plain.h
    printf 'int main(void) { return 0; }\n' > build/main.c
    cat > build/Makefile << 'END'
OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))
program: $(OBJECTS)
	gcc -o $@ $(OBJECTS)
%.o: %.c made.h
	gcc -O1 -MMD -c -o $@ $<
made.h:
	echo '#define N 2' > $@
END
    "$dpm" run --kinds all,file -o make.trace -- make -s -j2 -C build > out 2> err
    check_equal "a build ends in order" 0 $?
    "$dpm" stats --json make.trace 2> stats.err > stats.json
    # truth of the link: the objects that make names
    make -pn -C build 2> /dev/null | sed -n 's/^program: //p' | tr ' ' '\n' | sort > expected
    "$dpm" dump --json --matched make.trace 2> dump.err | jq -r 'select(.event == "READ" and any(.edges[]?; .kind == "file")) |
        select(.local | test("\\.o$")) | .local' | sed 's|.*/||' | grep -v '^cc' | sort -u > seen
    check "... make names its objects" test "$(wc -l < expected)" = 31
    check_equal "... the linker reads each of them from another process" "" "$(diff expected seen)"
    # truth of the header: what the compiler wrote down
    check_equal "... the header that was made is read by those that include it" "$(grep -l made.h build/*.d | wc -l)" \
        "$("$dpm" dump --json --matched make.trace 2> dump.err | jq -r 'select(.event == "READ" and
            any(.edges[]?; .kind == "file")) | select(.local | test("/made.h$")) | .pid' | sort -u | wc -l)"
    check_equal "... a file that was there before has no writer" 0 \
        "$(jq '[.inputs[] | select(.file | test("plain.h|main.c|libc"))] | length' stats.json)"
    check_equal "... nothing is in doubt" 0 "$(jq .trace.matching.doubtful_files stats.json)"
    "$dpm" stats --by program make.trace > out 2> err
    check "... by program, it is a row" grep -qE "^as +ld +31 " out
else
    skip "a build" "make or gcc is not installed"
fi

# ---- names ----

cat > names.py << 'END'
import os, subprocess, sys
names = [b"new\nline", b'quo"te\'s', b"\x1b[31mred", b"\xff\xfe", b"a b\tc", b"\\x41", "\u00e4\u202e".encode(), b"%s%n", b"-n", b"l" * 250]
for name in names:
    if sys.argv[1] == "write":
        with open(b"names/" + name, "wb") as file:
            file.write(name)
    else:
        with open(b"names/" + name, "rb") as file:
            assert file.read() == name
END
mkdir names
"$dpm" run --kinds file -o names.trace -- sh -c '/usr/bin/python3 names.py write; /usr/bin/python3 names.py read' > out 2> err
check_equal "names with everything in them: each is read from its writer" "python3 python3 10" "$(inputs names.trace |
    cut -d ' ' -f 1-3)"
"$dpm" stats names.trace > out 2> err
"$dpm" dump --matched names.trace >> out 2> err
"$dpm" graph -o names.dot names.trace >> out 2> err
check_equal "... and no terminal gets any of it" 0 "$(grep -c "$(printf '\033')" out)"

# ---- changes: cut, renamed, mapped ----

cat > changes.py << 'END'
import mmap, os, sys
what = sys.argv[1]
if what == "write":
    for name in "cut", "renamed", "emptied", "mapped":
        with open(name, "wb") as file:
            file.write(b"x" * 8192)
    os.rename("renamed", "other")
    os.truncate(os.open("cut", os.O_RDWR), 100)
elif what == "change":
    with open("emptied", "wb") as file:
        file.truncate(8192)
    os.truncate(os.open("cut", os.O_RDWR), 8192)
    with open("mapped", "r+b") as file:
        mmap.mmap(file.fileno(), 4096)[0] = 65
else:
    for name in "cut", "other", "emptied", "mapped":
        with open(name, "rb", 0) as file:
            file.read(8192)
END
"$dpm" run --kinds file -o changes.trace -- sh -c 'for i in write change read; do /usr/bin/python3 changes.py $i; done' > out 2> err
"$dpm" dump --json --matched --type read changes.trace 2> dump.err | jq -r --arg folder "$PWD/" 'select(.local | startswith($folder)) |
    select(.edges != null) | "\(.local | sub(".*/"; "")) \([.edges[].bytes | tostring] | join(" ")) \([.edges[] | .doubtful == true | tostring] | join(" "))"' \
    > seen
check "a file that was cut and extended: what is left is its writer's" grep -q "^cut 100 false" seen
check "a file that was renamed is the same" grep -q "^other 8192 false" seen
check_equal "a file that was emptied has nothing of its writer" 0 "$(grep -c ^emptied seen)"
check "what was mapped may come from there, in doubt" grep -q "^mapped 4096 4096 true false" seen

# ---- a database ----

if command -v sqlite3 > /dev/null; then
    "$dpm" run --kinds file -o database.trace -- sh -c 'sqlite3 db "create table t(x); insert into t values (1), (2);"
        sqlite3 db "select sum(x) from t"' > out 2> err
    check_equal "a database: the second process reads what the first one wrote" "3 $PWD/db" \
        "$(cat out) $("$dpm" stats --json database.trace 2> stats.err | jq -r '[.inputs[].file] | unique | join(" ")')"
else
    skip "a database" "sqlite3 is not installed"
fi

# ---- shared memory ----

cat > share.py << 'END'
import mmap, os, time
memory = mmap.mmap(-1, 4096)
child = os.fork()
memory[0] = 1
while child == 0 and not os.path.exists("over") or child != 0 and not os.waitpid(child, os.WNOHANG)[0]:
    time.sleep(0.01)
END
rm -f over
"$dpm" run -o share.trace -- /usr/bin/python3 share.py > out 2> err &
i=0
while [ $i -lt 300 ] && [ "$("$dpm" dump --json --type name share.trace 2> dump.err | jq -s 'map(select(.kind == 7)) | length')" != 2 ]; do
    sleep 0.1
    i=$((i + 1))
done
touch over
wait
"$dpm" stats share.trace > out 2> err
named='python3\[[0-9]+\] and python3\[[0-9]+\] share memory that they may write to \(/dev/zero \(deleted\)\)'
check_equal "processes that share memory are named" "" "$(grep -qE "^$named" out || cat out err "dump.err")"
"$dpm" run --kinds file -o alone.trace -- sh -c 'true' > out 2> err
check_equal "others are not" "[]" "$("$dpm" stats --json alone.trace 2> stats.err | jq -c .trace.shared_memory)"

# ---- many files ----

mkdir many
"$dpm" run --kinds file -o many.trace -- sh -c 'i=0; while [ $i -lt 10000 ]; do echo $i > many/$i; i=$((i + 1)); done
    find many -type f -exec cat {} +' > out 2> err
check_equal "10,000 files: each is read from its writer" "10000 10000 0" "$("$dpm" stats --json many.trace 2> stats.err |
    jq -r '"\([.inputs[].files] | add) \(.trace.matching.files) \(.trace.lost)"')"
finish
