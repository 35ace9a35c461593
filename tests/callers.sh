# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # who reads it sets $tests and $scratch, and is in $scratch
# callers.sh: builds the program that knows its callers (callers.c) in several ways: pie, fixed, no-plt, frames, static.

compile() {
    cc -O2 -fomit-frame-pointer -D_GNU_SOURCE -I"$tests" "$@" -pthread || exit 1
}
library="-L. -lcallers -Wl,-rpath,$scratch"
compile -fPIC -shared -o libcallers.so "$tests/callers_library.c"
# shellcheck disable=SC2086 # several words
{
    compile -fPIE -pie -o pie "$tests/callers.c" $library
    compile -fno-pie -no-pie -o fixed "$tests/callers.c" $library
    compile -fno-plt -o no-plt "$tests/callers.c" $library
    compile -O0 -fno-omit-frame-pointer -o frames "$tests/callers.c" $library
    compile -static -DLIBRARY_IS_PROGRAM=true -o static "$tests/callers.c" "$tests/callers_library.c"
}
