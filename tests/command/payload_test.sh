#!/bin/sh
# SPDX-License-Identifier: MIT
# payload_test.sh BUILD_FOLDER: a site's NATS server that takes only small messages is refused at once, with the reason.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
need_programs nats-server
dpm=$(realpath "$dpm")
cd "$scratch" || exit 1
printf '#!/bin/sh\nshift; exec sh -c "$*"\n' > shell
chmod +x shell
printf 'u:p\n' > secret
chmod 600 secret
cat > nats.conf << END
host: 127.0.0.1
port: -1
ports_file_dir: "$scratch"
max_payload: 1000000
jetstream { store_dir: "$scratch/store", max_file_store: 1G }
authorization { user: u, password: p }
END
nats-server -c nats.conf > nats.log 2>&1 &
server=$!
trap 'kill $server; rm -rf "$scratch"' EXIT
wait_for 30 sh -c 'ls nats-server_*.ports > ports 2> ls.err'
address=$(sed -n 's/.*"\(nats:[^"]*\)".*/\1/p' "$(cat ports)" | head -n 1)
"$dpm" run -o t --fabric "$address" --credentials secret --rsh "$scratch/shell" --remote-dpm "$dpm" --host h1:true \
    > out 2> err
check_equal "messages of at most 1,000,000 bytes" 1 $?
check "... are the reason" grep -q \
    'takes messages of at most 1000000 bytes, and dpm needs 1004096: increase its max_payload' err
check_not "nothing is recorded" test -e t
finish
