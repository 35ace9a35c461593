#!/bin/sh
# SPDX-License-Identifier: MIT
# files.sh BUILD_FOLDER: the overhead of metering a program that only writes 64 bytes to a file and reads them again, from
# the page cache; of metering everything else, which it does not use; and the overhead for such a program while another
# one is metered.
# shellcheck source=bench/compare.sh
. "$(dirname "$0")/compare.sh"

use_pingpong file
load_title="a file in the page cache: a write and a read of 64 bytes"
heading "write and read"
compare "dpm: all flags, no files" dpm --flags all --kinds all
compare "the same, and files" dpm --flags all --kinds all,file
compare "dpm: read write, coarse CPU time" dpm --flags "read write" --kinds file --cpu-time coarse
compare "dpm: read write pc" dpm --flags "read write pc" --kinds file
compare "dpm: all flags, only files" dpm --flags all --kinds file
compare "neighbour of dpm: read write" neighbour --flags "read write" --kinds file
compare "neighbour of dpm: all flags, no files" neighbour --flags all --kinds all
compare "the same, and files" neighbour --flags all --kinds all,file
