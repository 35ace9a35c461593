#!/bin/sh
# SPDX-License-Identifier: MIT
# item.sh NUMBER: compresses something; number 7 compresses 20 times as much. Prints its number, and how long it took, in ms.
began=$(date +%s%N)
rounds=1
[ "$1" != 7 ] || rounds=20
while [ $rounds -gt 0 ]; do
    head -c 600000 /dev/urandom | gzip -9 | wc -c > /dev/null
    rounds=$((rounds - 1))
done
echo "$1 $((($(date +%s%N) - began) / 1000000))"
