#!/bin/sh
# SPDX-License-Identifier: MIT
# prometheus_test.sh BUILD_FOLDER: Prometheus reads the metrics of `dpm live`, and promtool finds nothing wrong with them. If
# they are not installed, they are downloaded, by ./dev test --all only: 90 MB.
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/tap.sh"
. "$tests/meter.sh"
. "$tests/sample.sh"
need_programs curl jq

if ! command -v prometheus > /dev/null; then
    long_ones || skip_all "prometheus is not installed; ./dev test --all unpacks it"
    (apt-get -qq download prometheus && dpkg -x prometheus_*.deb unpacked) > download 2>&1 ||
        skip_all "prometheus cannot be downloaded: $(tail -n 1 download)"
    PATH=$PATH:$scratch/unpacked/usr/bin
fi

port=$(free_port)
"$dpm" live --port "$port" alpha 2> live.err &
live=$!
prometheus=
# shellcheck disable=SC2086 # one word for each
trap 'kill $live $prometheus 2> /dev/null; rm -rf "$scratch"' EXIT
has_all() {
    curl -sf "http://127.0.0.1:$port/metrics" > metrics && grep -q '^dpm_recording_events_total 51$' metrics
}
check "there are metrics" wait_for 60 has_all
check_equal "promtool finds nothing wrong with them" "" "$(promtool check metrics < metrics 2>&1)"

own=$(free_port)
cat > prometheus.yml << END
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: dpm
    static_configs: [{targets: ['127.0.0.1:$port']}]
END
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$own" > prometheus.out 2>&1 &
prometheus=$!
query() {
    curl -sf "http://127.0.0.1:$own/api/v1/query?query=$1" | jq -r '.data.result[0].value[1]'
}
has_read() {
    [ "$(query dpm_recording_events_total)" = 51 ]
}
check "Prometheus reads them" wait_for 120 has_read
check_equal "... all of them, without an error" 'up ""' \
    "$(curl -s "http://127.0.0.1:$own/api/v1/targets" | jq -r '.data.activeTargets[0] | "\(.health) \(.lastError | @json)"')"
check_equal "... the requests of which Grafana draws its map" \
    "$(awk '/^traces_service_graph_request_total/ { sum += $NF } END { print sum }' metrics)" \
    "$(query 'sum(traces_service_graph_request_total)')"
kill $prometheus
finish
