#!/bin/sh
# SPDX-License-Identifier: MIT
# controller_page_test.sh BUILD_FOLDER: the examples of docs/controller.md, on three hosts of the names that it has.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
need_meter
need_programs ip ssh python3 nats-server unshare setpriv curl
tests=$(realpath "$(dirname "$0")")
hosts=$(realpath "$tests/../../scripts/hosts")
dir=$scratch/hosts
chmod 755 "$scratch"

# shellcheck disable=SC2317 # called by trap
leave() {
    "$hosts" down "$dir"
    timeout 60 "$dpm" job die > end.out 2>&1
    rm -rf "$scratch"
}
trap leave EXIT
"$hosts" up --owner $$ "$dir" web1 web2 db1 > up.log 2>&1 || skip_all "no hosts can be made: $(tail -n 1 up.log; rm -f up.log)"
rm -f up.log
dpm=$(realpath "$dpm")
export HOME="$scratch/home" XDG_STATE_HOME='' XDG_CONFIG_HOME=''
mkdir -p "$HOME" "$scratch/bin"
cd "$HOME" || exit 1

# ssh reaches the hosts, and dpm there is the one that is tested.
ssh=$(command -v ssh)
cat > "$scratch/bin/ssh" << END
#!/bin/sh
for word; do
    shift
    [ "\$word" != dpm ] || word=$dpm
    set -- "\$@" "\$word"
done
exec $ssh -F $dir/ssh_config "\$@"
END
chmod +x "$scratch/bin/ssh"
ln -s "$dpm" "$scratch/bin/dpm"
PATH=$scratch/bin:$PATH
export PATH PYTHONPATH="$tests"
check_equal "the examples of docs/controller.md do what it shows" "" \
    "$(timeout 400 python3 "$tests/controller_page.py" "$dpm" "$tests/../../docs/controller.md" 2>&1)"
finish
