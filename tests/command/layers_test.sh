#!/bin/sh
# SPDX-License-Identifier: MIT
# layers_test.sh: our sources follow docs/layers; and scripts/check_layers, which checks this, finds one offence of
# every kind when it is planted into a small, otherwise correct tree.
#
#   docs/layers    base <- event <- trace, control above all; (wire) to come
set -u
here=$(cd "$(dirname "$0")" && pwd)
check_layers=$here/../../scripts/check_layers
# shellcheck source=tests/command/tap.sh
. "$here/tap.sh"

plant() { # FILE LINE...: adds lines to a file of the small tree
    mkdir -p "$tree/$(dirname "$1")"
    file=$tree/$1
    shift
    printf '%s\n' "$@" >> "$file"
}

# The correct tree: every kind of include that is allowed, and folders that are not checked.
new_tree() {
    tree=$scratch/tree
    rm -rf "$tree"
    plant docs/layers '# comment' 'base:' 'event: base' 'event/record.h: public' '(wire): base' \
        'trace: base event # comment' 'meter: event' 'control: everything but meter (wire)'
    plant src/base/base.h '#include <stdio.h>'
    plant src/event/event.h '#include "base/base.h"' '#include "event/record.h"'
    plant src/event/record.h '#include <stdint.h>'
    plant src/event/table.h '#include "event/record.h"'
    plant src/event/event.c '#include "event/event.h"' '#  include "event/table.h"'
    plant src/trace/writer.c '#include "base/base.h"' '#include "event/record.h"'
    plant src/trace/trace.h '#include "event/event.h"'
    plant src/meter/meter.bpf.c '#include "event/record.h"' '#include <bpf/bpf_helpers.h>'
    plant src/meter/loading.c '#include "meter.skel.h"'
    plant src/control/control.c '#include "trace/trace.h"' '#include "event/record.h"'
    plant src/meson.build ''
    plant meson.build ''
    plant README.md ''
    plant examples/README.md ''
    plant build/src/base/base.h '#include "trace/trace.h"'
    plant build-sanitize/base.h ''
}

offences() {
    "$check_layers" "$tree"
}

# finds NAME OFFENCE: the tree now has this offence and no other.
finds() {
    found=$(offences 2>&1)
    status=$?
    check_equal "finds $1" "1 $2" "$status $found"
    new_tree
}

check "our own tree is in order" "$check_layers" "$here/../.."

long_ones || finish # the rest tests the script
new_tree
check "a tree in order passes" offences

plant src/base/base.c '' '#include "event/event.h"'
finds "a lower layer that includes a higher one" \
    'src/base/base.c:2: base may not include event (docs/layers)'

plant src/control/run.c '#include "meter/meter.h"'
plant src/meter/meter.h ''
finds "a folder that 'everything but' leaves out" \
    'src/control/run.c:1: control may not include meter (docs/layers)'

plant src/trace/reader.c '#include "base/base.h"' '#include "event/table.h"'
finds "a private header included from outside" \
    'src/trace/reader.c:2: event/table.h is private to event: include event/event.h'

plant src/trace/reader.c '#include "writer.h"'
finds "an include that is not written from src/" \
    'src/trace/reader.c:1: includes are written from src/, as "FOLDER/FILE.h": "writer.h"'

plant src/trace/reader.c '#include "../event/table.h"'
finds "an include that climbs" \
    'src/trace/reader.c:1: includes are written from src/, as "FOLDER/FILE.h": "../event/table.h"'

plant src/base/base.c '#include <trace/trace.h>'
finds "an include that hides in angle brackets" \
    'src/base/base.c:1: our own headers are included with quotes: "trace/trace.h"'

plant src/base/base.c '#include HEADER'
finds "an include by macro" 'src/base/base.c:1: an include names its file itself, not by a macro'

plant src/trace/reader.c '#include "event/missing.h"'
finds "an include of nothing" 'src/trace/reader.c:1: there is no src/event/missing.h'

plant src/trace/reader.c '#include "meter.skel.h"'
finds "a skeleton used where its folder may not be" \
    'src/trace/reader.c:1: trace may not include meter, where meter.bpf.c is (docs/layers)'

plant docs/layers 'trace/index: base'
plant src/trace/index/index.h '' '#include "trace/trace.h"'
finds "a folder in a folder that includes the one around it" \
    'src/trace/index/index.h:2: trace/index may not include trace (docs/layers)'

plant docs/layers 'trace/index:' 'show: trace/index'
plant src/trace/index/index.h ''
plant src/trace/index/page.h ''
plant src/show/show.c '#include "trace/index/index.h"' '#include "trace/index/page.h"'
finds "a private header of a folder in a folder" \
    'src/show/show.c:2: trace/index/page.h is private to trace/index: include trace/index/index.h'

plant tests/writer.c ''
finds "a file name that is there twice" \
    'tests/writer.c:1: file names are unique in the tree: also src/trace/writer.c'

plant src/other/other.c ''
finds "a folder that is not listed" \
    'src/other/other.c:1: folder other has no line in docs/layers'

plant src/wire/wire.c '#include "base/base.h"'
finds "a folder to come that has come" \
    'docs/layers:5: wire has sources: take its parentheses away'

plant docs/layers 'agent: base'
finds "a listed folder that is not there" \
    'docs/layers:9: agent has no sources: put it in parentheses'

plant docs/layers '(agent): (dpmd) base' '(dpmd): base'
finds "a circle in the list" 'docs/layers:9: agent may only list folders above it, not dpmd'

plant docs/layers 'trace/missing.h: public'
finds "a public header that is not there" 'docs/layers:9: there is no src/trace/missing.h'

plant docs/layers 'trace base'
finds "a line without its colon" \
    "docs/layers:9: a line is \`FOLDER: FOLDERS...\` or \`FOLDER/FILE.h: public\`"

plant docs/layers 'show: base trace'
plant src/show/show.c '#include "base/base.h"'
finds "a folder that is listed and not included" \
    'docs/layers:9: show lists trace, of which it includes nothing'

plant docs/layers 'base:'
finds "a folder listed twice" 'docs/layers:9: base is listed twice'

finish
