#!/bin/sh
# SPDX-License-Identifier: MIT
# cmocka_tap.sh PROGRAM: runs a cmocka test and mends its TAP: cmocka 1.1 says `not ok 3 # SKIP` of
# a skipped case, which readers of TAP take for a failure. The exit status is the program's.
#
#   program --stdout--> sed --3--> our standard output
#       '----exit status--4--> status
exec 3>&1
status=$({ {
    CMOCKA_MESSAGE_OUTPUT=TAP "$@" 4>&-
    echo $? >&4
} | sed 's/^not \(ok [0-9]* # SKIP\)/\1/' >&3; } 4>&1)
exit "$status"
