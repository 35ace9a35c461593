// SPDX-License-Identifier: MIT
// live_script.mjs SCRIPTS: functions of the page of dpm live that need no page: snapshots become moments, what they lack is not made up,
// groups, names, where boxes stand, words about views. And some of the page of dpm report. Prints "ok NAME" for each case in which nothing is wrong.
import assert from "node:assert/strict";
import fs from "node:fs";

const scripts = process.argv[2];
const files = ["page/drawing.js", "live/live_moments.js", "live/live_spots.js", "live/live_curves.js", "live/live_strips.js", "live/live_matrix.js", "live/live_details.js", "live/live_page.js"];
const text = files.map((file) => fs.readFileSync(`${scripts}/${file}`, "utf8")).join("\n").replace(/^new App\(\);$/m, "");
const pageDocument = {places: {}, getElementById(id) { return this.places[id] ??= {namespaceURI: ""}; }, querySelectorAll: () => [],
    createElement: (name) => new Node(name), createElementNS: (_, name) => new Node(name)};
const page = new Function("document", `${text}; return {Moments, Places, Spots, Curves, Strips, Matrix, Details, App, shortName, countedText, metrics, metricText, metricOf, arcFields, nodeFields, correctText, withinText, spotsMost, machineWords};`)(
    pageDocument);
const {App, Curves, Moments, Places, Spots, arcFields, nodeFields} = page;

/* An element, as far as drawings need one. */
class Node {
    constructor(name) {
        Object.assign(this, {name, children: [], attributes: {}, dataset: {}, style: {}});
    }

    setAttribute(name, value) {
        this.attributes[name] = value;
    }

    append(...children) {
        this.children.push(...children);
    }

    addEventListener() {}

    get text() {
        return this.children.map((child) => typeof child === "string" ? child : child.text).join("");
    }

    all(name) {
        return [...(this.attributes.class === name ? [this] : []), ...this.children.filter((child) => child instanceof Node).flatMap((child) => child.all(name))];
    }
}

const reportText = ["drawing", "chart", "history", "map", "waterfall", "tables"].map((file) => fs.readFileSync(`${scripts}/page/${file}.js`, "utf8")).join("\n");
const report = new Function("document", `${reportText}; return {Chart, HistoryView, nodeText, arcWords, accountRow, binText, hopRows, drawWaterfalls, cellNumber};`)(
    {getElementById: () => ({namespaceURI: ""}), createElement: (name) => new Node(name), createElementNS: (_, name) => new Node(name)});

/* ---- snapshots, as dpm live sends them ---- */

const sums = (messages, bytes = 10 * messages) => ({messages, bytes});

function processRow(key, name, more = {}) {
    return {key, name, program: name, program_key: `p ${name}`, container: "c", container_key: "c c", machine: "vm", machine_key: "m vm", pid: 1, cpu_ns: 5e8, sent: sums(0), queue: sums(0),
        queue_delay_ns: 0, requests: {count: 0, p50_ns: null, p99_ns: null}, living: 1, so_far: {sent: sums(0)}, waits_for: null, is_silent: false, ...more};
}

function ends(from, to) {
    const side = (name, one) => one.key === undefined ? {[name]: one, [`${name}_key`]: `k ${one}`}
        : {[name]: one.name, [`${name}_key`]: one.key, [`${name}_program`]: one.program, [`${name}_program_key`]: one.program_key, [`${name}_container`]: one.container,
            [`${name}_container_key`]: one.container_key, [`${name}_machine`]: one.machine, [`${name}_machine_key`]: one.machine_key};
    return {...side("from", from), ...side("to", to)};
}

function pairRow(from, to, messages) {
    return {...ends(from, to), sent: sums(messages), so_far: {sent: sums(messages)}, queue_delay_ns: 0, receiver_wait_ns: 0};
}

function connectionRow(from, to, requests, p99_ns) {
    return {...ends(from, to), kind: "tcp", address: "*:80", queue: sums(3), requests: {count: requests, p50_ns: p99_ns, p99_ns}};
}

let wall = 0;
function snapshot(number, rows, more = {}) {
    wall += 1e9;
    return JSON.stringify({time: {number, elapsed_ns: number * 1e9, wall_ns: wall, last: false}, interval: {length_ns: 1e9, records: 0, events: 0, lost_so_far: 0, recorder_cpu_ns: 0, recorder_share: null, reader_cpu_ns: 0,
        machine_states: [], processes: [], pairs: [], connections: [], programs: [], containers: [], machines: [], ...rows}, ...more});
}

function named(moments, map, name) {
    return [...map].find(([key]) => moments.names.list[key] === name)?.[1];
}

function arc(moments, moment, group, from, to) {
    return [...moments.arcs(moment, group).values()].find((one) => moments.names.list[one.from] === from && moments.names.list[one.to] === to)?.values;
}

const at = (fields, values, field) => values[fields.indexOf(field)];

/* A page without its controls, which shows this metric. */
function appOf(moments, key, isChange) {
    return Object.assign(Object.create(App.prototype), {moments, metric: page.metrics.find((one) => one.key === key), isChange, held: null, group: 0, find: "", hidden: new Set(), chosen: null});
}

/* ---- cases ---- */

const cases = {
    "rows of the same name but other keys stay apart, also in groups"() {
        const moments = new Moments();
        const one = processRow("1", "worker[1]", {program: "worker", program_key: "a"}), other = processRow("2", "worker[1]", {program: "worker", program_key: "b"});
        const client = processRow("3", "client[3]");
        const [, moment] = moments.add(1, snapshot(1, {processes: [one, other, client], pairs: [pairRow(client, one, 5), pairRow(client, other, 7)],
            programs: [{...one, name: "worker", key: "a"}, {...other, name: "worker", key: "b"}]}));
        assert.equal(moments.nodes(moment, 0).size, 3);
        assert.equal(moments.nodes(moment, 1).size, 2);
        for (const group of [0, 1])
            assert.deepEqual([...moments.arcs(moment, group).values()].map((arcs) => at(arcFields, arcs.values, "sent")).sort(), [5, 7]);
        assert.deepEqual([...moments.arcs(moment, 3).values()].map((arcs) => at(arcFields, arcs.values, "sent")), [12]);
    },

    "a key keeps its place when its name changes"() {
        const moments = new Moments();
        moments.add(1, snapshot(1, {processes: [processRow("1", "redis-server[12]")]}));
        const [, moment] = moments.add(2, snapshot(2, {processes: [processRow("1", "redis-server *:6379[12]")]}));
        assert.deepEqual([...moments.nodes(moment, 0).keys()].map((name) => moments.names.list[name]), ["redis-server *:6379[12]"]);
    },

    "connections have no messages of their own; a quantile of groups is the greatest"() {
        const moments = new Moments();
        const [a, b, server] = [processRow("1", "a[1]", {program: "app", program_key: "x"}), processRow("2", "a[2]", {program: "app", program_key: "x"}), processRow("3", "s[3]")];
        const [, moment] = moments.add(1, snapshot(1, {processes: [a, b, server], connections: [connectionRow(a, server, 10, 5e6), connectionRow(b, server, 20, 9e6)]}));
        const values = arc(moments, moment, 1, "app", "s[3]");
        assert.ok(Number.isNaN(at(arcFields, values, "sent")));
        assert.equal(at(arcFields, values, "requests"), 30);
        assert.equal(at(arcFields, values, "p99"), 9e6);
        assert.equal(at(arcFields, values, "queue"), 6);
    },

    "requests of unmonitored clients belong to the only peer, if it is the only one"() {
        const server = processRow("1", "nginx[1]");
        const requests = (pairs, more = {}) => {
            const moments = new Moments();
            const [, moment] = moments.add(1, snapshot(1, {processes: [server], pairs, connections: [connectionRow("unknown", server, 40, 2e6)], ...more}));
            return ["10.0.0.7:*", "10.0.0.8:*", "unmonitored peers"].map((from) => at(arcFields, arc(moments, moment, 0, from, "nginx[1]") ?? [], "requests"));
        };
        assert.deepEqual(requests([pairRow("10.0.0.7:*", server, 40)]), [40, undefined, undefined]);
        assert.deepEqual(requests([pairRow("10.0.0.7:*", server, 40), pairRow("10.0.0.8:*", server, 1)]), [NaN, NaN, 40]);
        assert.deepEqual(requests([]), [undefined, undefined, 40]);
        assert.deepEqual(requests([pairRow("10.0.0.7:*", server, 9), pairRow("unknown", server, 40)]), [NaN, undefined, 40]); // it may be a server of nginx
        const left = {...pairRow(server, server, 1), rows: 3};
        assert.deepEqual(requests([pairRow("10.0.0.7:*", server, 40)], {other_pairs: left}), [NaN, undefined, 40]);
    },

    "sums of groups are at least so much when pairs are left out"() {
        const moments = new Moments();
        const [a, b] = [processRow("1", "a[1]"), processRow("2", "b[2]")];
        const [, moment] = moments.add(1, snapshot(1, {processes: [a, b], pairs: [pairRow(a, b, 4)], other_pairs: {...pairRow(a, b, 9), rows: 2}}));
        const says = (key, group, isChange = false) => App.prototype.arcText.call({moment, group, isChange, metric: page.metrics.find((one) => one.key === key),
            text: App.prototype.text}, 4);
        assert.equal(says("sent", 1), "≥ 4/s");
        assert.equal(says("sent", 0), "4/s");
        assert.equal(says("sent", 1, true), "+4/s in 1 s");
        assert.equal(says("p99", 1), "4 ns");
    },

    "a moment in which no event came has a change, too"() {
        const moments = new Moments();
        const [a, b] = [processRow("1", "a[1]"), processRow("2", "b[2]")];
        moments.add(1, snapshot(1, {processes: [a, b], pairs: [pairRow(a, b, 8)]}));
        moments.add(2, snapshot(2, {processes: [a, b], pairs: [pairRow(a, b, 0)]}, {time: {number: 2, elapsed_ns: 1e9, wall_ns: 2e9, last: false}}));
        const app = appOf(moments, "sent", true);
        const [[key, {from, to, values}]] = moments.arcs(moments.list[1], 0);
        assert.equal(app.arcValue({values}, (moment) => moments.arcs(moment, 0).get(key)), -8);
        const curves = Object.assign(Object.create(Curves.prototype), {app, known: new Map()});
        assert.deepEqual(curves.values({group: 0, from, to, metric: app.metric, isChange: true}), [NaN, -8]);
    },

    "while no record comes, times are not known: they are not 0"() {
        const moments = new Moments();
        const [a, b] = [processRow("1", "a[1]", {cpu_ns: 0}), processRow("2", "b[2]", {cpu_ns: 0})];
        const rows = {processes: [a, b], pairs: [pairRow(a, b, 0)], other_pairs: {...pairRow(a, b, 9), rows: 2}, other_processes: {...a, rows: 2}};
        const says = (stands) => {
            const [, moment] = moments.add(1, snapshot(1, {...rows, stands}));
            const [values, arcValues] = [named(moments, moments.nodes(moment, 0), "a[1]"), arc(moments, moment, 0, "a[1]", "b[2]")];
            return [...["cpu", "delay", "sent"].map((field) => at(nodeFields, values, field)), ...["delay", "wait", "sent"].map((field) => at(arcFields, arcValues, field)),
                at(nodeFields, moment.rest.nodes[0].values, "cpu"), at(arcFields, moment.rest.arcs, "wait"), at(arcFields, moment.rest.arcs, "sent")];
        };
        assert.deepEqual(says(false), [0, 0, 0, 0, 0, 0, 0, 0, 9]);
        assert.deepEqual(says(true), [NaN, NaN, 0, NaN, NaN, 0, NaN, NaN, 9]);
    },

    "a box has the value itself while changes are shown"() {
        const moments = new Moments();
        const [, moment] = moments.add(1, snapshot(1, {processes: [processRow("1", "a[1]", {sent: sums(5)})]}));
        const box = {first: {}, second: {}, title: {}, rect: {style: {}}, group: {style: {}, toggleAttribute() {}, classList: {toggle() {}}}};
        const [[name, values]] = moments.nodes(moment, 0);
        Spots.prototype.fillBox.call({app: appOf(moments, "sent", true)}, box, name, values, 0);
        assert.match(box.title.textContent, /, messages per second 5\/s$/);
    },

    "a box may have no values: of a peer that is not monitored, and of a process at a moment before its first"() {
        const moments = new Moments();
        const a = processRow("1", "a[1]"), outside = {key: "2", name: "10.0.0.1:80"};
        moments.add(1, snapshot(1, {processes: [a], pairs: [pairRow(a, outside, 5)]}));
        const box = {first: {}, second: {}, title: {}, rect: {style: {}}, group: {style: {}, toggleAttribute() {}, classList: {toggle() {}}}};
        const says = (name) => {
            Spots.prototype.fillBox.call({app: Object.assign(appOf(moments, "sent", false), {nameOf: (key) => key})}, box, name, undefined, 0);
            return box.second.textContent;
        };
        const [arc] = moments.arcs(moments.list[0], 0).values();
        moments.outside.add(arc.to);
        assert.deepEqual([says(arc.to), says(arc.from)], ["unmonitored", "–"]);
    },

    "2 ms that are left at the end change no rates"() {
        const [a, b] = [processRow("1", "a[1]"), processRow("2", "b[2]")];
        const pair = (from, to, messages, soFar) => ({...pairRow(from, to, messages), so_far: {sent: sums(soFar)}});
        const ended = (length_ns) => {
            const moments = new Moments();
            moments.add(1, snapshot(1, {processes: [a, b], pairs: [pair(a, b, 1000, 1000)], decisions: []}));
            moments.add(2, snapshot(2, {processes: [a, b], pairs: [pair(a, b, 20, 1020), pair(b, a, 3, 3)], decisions: [{text: "x"}], length_ns, lost_so_far: 7},
                {time: {number: 2, elapsed_ns: 1e9 + length_ns, wall_ns: 2e9, last: true}}));
            return moments;
        };
        const moments = ended(2e6);
        assert.equal(moments.list.length, 1);
        const [moment] = moments.list;
        assert.deepEqual([moment.last, moment.number, moment.seconds, moment.whole.lost, moment.decisions.length], [true, 2, 1, 7, 1]);
        assert.deepEqual(["sent", "sentSoFar"].map((field) => at(arcFields, arc(moments, moment, 0, "a[1]", "b[2]"), field)), [1000, 1020]);
        assert.equal(at(arcFields, arc(moments, moment, 0, "b[2]", "a[1]"), "sentSoFar"), 3);
        assert.equal(ended(5e8).list.length, 2);
    },

    "600 moments are kept, and texts as far as they fit"() {
        const moments = new Moments();
        for (let number = 1; number <= 605; number++)
            moments.add(number, snapshot(number, {processes: [processRow("1", "a[1]")]}));
        assert.equal(moments.list.length, 600);
        assert.equal(moments.list[0].number, 6);
        moments.textSize += 64 * 1024 * 1024 - 1; // as if they had been longer
        moments.add(606, snapshot(606, {processes: [processRow("1", "a[1]")]}));
        assert.equal(moments.list[0].text, null);
        assert.notEqual(moments.list.at(-1).text, null);
        assert.equal(at(nodeFields, named(moments, moments.nodes(moments.list[0], 0), "a[1]"), "cpu"), 5e8);
    },

    "a moment that was held and is no longer kept is said to be lost"() {
        const moments = new Moments();
        moments.add(1, snapshot(1, {}));
        const held = moments.list[0];
        for (let number = 2; number <= 601; number++)
            moments.add(number, snapshot(number, {}));
        const update = {update() {}};
        const app = {moments, held, isHeldLost: false, spots: update, curves: update, strips: update, matrix: update, details: update, why: update, sayState() {}, sayHidden() {}, sayDecisions() {}};
        App.prototype.drawNow.call(app);
        assert.equal(app.isHeldLost, true);
        assert.equal(app.held.number, 2);
        App.prototype.drawNow.call(app);
        assert.equal(app.held.number, 2);
    },

    "names lose their middle, not their numbers"() {
        assert.equal(page.shortName("redis-server[12]", 21), "redis-server[12]");
        assert.equal(page.shortName("postgres: checkpointer[4711]@db1", 21), "postgres: …[4711]@db1");
        assert.equal(page.shortName("python3 back_...17920[4711]", 21), "python3 back_…[4711]");
        assert.equal(page.shortName("x".repeat(40), 21).length, 21);
    },

    "boxes that are quiet give their places away, and only they"() {
        const places = new Places();
        places.add([1, 2, 3], new Set(["1 2", "2 3"]), 1);
        places.add([4], new Set(["4 1"]), 2);
        const where = (name) => [places.at.get(name)?.tier, places.at.get(name)?.row];
        assert.deepEqual([4, 1, 2, 3].map((name) => where(name)[0]), [-1, 0, 1, 2]);
        places.at.get(2).busy = 70;
        assert.deepEqual(places.release(4, 61, (name) => name === 3), [1]);
        assert.deepEqual([where(2), where(3)], [[1, 0], [2, 0]]);
        places.add([5], new Set(["5 2"]), 71);
        assert.deepEqual(where(5), [0, 0]);
    },

    "whether a view's promises are kept is said as it is known"() {
        const correct = (is, delay) => page.correctText({correct_is: is, correct: 25e6, delay, plan: {window: 9e9}});
        assert.equal(correct("kept", 2e6), "kept: values were at most 2.00 ms old when they were evaluated");
        assert.equal(correct("kept", 430e6), "kept: only values of the same moment were compared, at most 430 ms after it");
        assert.match(correct("doubtful", 430e6), /^perhaps not kept: a value was 430 ms old/);
        assert.equal(correct("doubtful", 2e6), "perhaps not kept: records were lost");
        assert.match(correct("impossible", 0), /can be 9.00 s apart$/);
        assert.equal(correct(undefined, 0), "not known yet");
        const within = (of) => page.withinText({receiver: "command 'x'", notifications: {queued: 0, sent: 0, late: 0, latest: 0, dropped: 0, ...of}});
        assert.equal(within({}), "none sent yet; to command 'x'");
        assert.equal(within({sent: 22, late: 5, latest: 67e6, dropped: 1}), "5 of 22 late, by up to 67.0 ms, 1 dropped; to command 'x'");
    },

    "what happened between changes that are no longer kept is unknown"() {
        const rows = (strips) => [...strips.rows.values()].map((row) => row.segments.map(({at: time, state}) => [time, state]));
        const monitor = (time, more) => ({monitor: "7", time, missed: 0, changes: [], machines: [], lost: 0, views: [{view: "V", rows_left_out: 0, rows_quiet: 0,
            rows: [{state: "active", since: 10, times: 1, values: {size: 17}}]}], ...more});
        const strips = new page.Strips({}, {addEventListener() {}});
        strips.take([monitor(20)], {wall: 20});
        assert.deepEqual(rows(strips), [[[10, "active"]]]);
        strips.take([monitor(40, {missed: 5, changes: [{time: 35, view: "V", change: "active", values: {size: 20}}]})], {wall: 40});
        assert.deepEqual(rows(strips), [[[10, "active"], [20, "unknown"], [35, "active"]]]);
        strips.take([monitor(40, {unanswered: "the monitor has ended"})], {wall: 60});
        assert.deepEqual(rows(strips)[0].at(-1), [40, "unknown"]);
        strips.take([], {wall: 80});
        assert.deepEqual(rows(strips)[0].at(-1), [80, "gone"]);
    },

    "a row that was never active, and is counted again, has no strip; one that was has ended"() {
        const strips = new page.Strips({}, {addEventListener() {}});
        const take = (time, rows_quiet, ...rows) => strips.take([{monitor: "7", time, missed: 0, changes: [], machines: [], lost: 0, views: [{view: "V", rows_left_out: 0, rows_quiet, rows}]}], {wall: time});
        take(20, 0, {row: "a 1", state: "unknown", since: 15, times: 0, reason: "a machine is late"});
        assert.equal(strips.rows.size, 1);
        take(30, 1);
        assert.equal(strips.rows.size, 0);
        take(40, 1, {row: "b 2", state: "active", since: 35, times: 1, values: {}});
        take(50, 1);
        assert.deepEqual([...strips.rows.values()].map((row) => row.segments.at(-1).state), ["gone"]);
    },

    "one is not many"() {
        assert.deepEqual([[1, "row"], [1234, "row"], [2, "process"], [0, "pair"]].map((one) => page.countedText(...one)), ["1 row", "1,234 rows", "2 processes", "0 pairs"]);
    },

    "the cost of a recorder is what it said last, not what came in one interval"() {
        const moments = new Moments();
        const [, moment] = moments.add(1, snapshot(1, {recorder_cpu_ns: 2e8, recorder_share: 0.004, reader_cpu_ns: 3e7}));
        const says = (whole, about) => App.prototype.costs.call({moment, about: {why: "trace", speed: 0, ...about}}, whole);
        assert.equal(says(moment.whole), "Recorder: 0.4% of a CPU, dpm live: 3.0%");
        assert.equal(says({...moment.whole, recorder: null}, {speed: 1}), "Recorder: – of a CPU");
        assert.equal(says(moment.whole, {why: "record"}), "DPM itself: 3.0% of a CPU");
    },

    "the load of a machine is the latest that is known, of ten seconds"() {
        const list = [0.5, null, null].map((share, i) => ({time: i * 4e9, whole: {machines: [{name: "vm", cpu_share: share}]}}));
        list.push({time: 12e9, whole: {machines: [{name: "vm", cpu_share: null}, {name: "new", cpu_share: null}]}});
        const says = (moment, index) => App.prototype.machineLoad.call({moments: {list}, moment}, index);
        assert.equal(says(list[2], 0), ": CPUs 50%");
        assert.equal(says(list[3], 0), "");
        assert.equal(says(list[3], 1), "");
    },

    "a recording that broke off is gone, also at the end"() {
        const says = (more, isLast) => page.machineWords({name: "web2", ended: true, complete: true, silent_ns: 30e9, ...more}, isLast);
        assert.deepEqual([says({complete: false}, false), says({complete: false}, true)], [", gone", ", gone"]);
        assert.deepEqual([says({}, false), says({}, true)], [", ended", ""]);
        assert.deepEqual([says({ended: false, complete: false}, false), says({ended: false, silent_ns: 1e9}, false)], [", silent for 30.0 s", ""]);
    },

    "how recordings have ended is known although the last interval is short"() {
        const moments = new Moments();
        const machine = (more) => ({machine_states: [{name: "vm", ended: false, complete: false, silent_ns: 0, cpu_share: 0.5, ...more}], decisions: []});
        moments.add(1, snapshot(1, machine({})));
        moments.add(2, snapshot(2, {...machine({ended: true, cpu_share: null}), length_ns: 2e6}, {time: {number: 2, elapsed_ns: 1.002e9, wall_ns: 2e9, last: true}}));
        assert.deepEqual(moments.list.map(({whole}) => whole.machines), [[{name: "vm", ended: true, complete: false, silent_ns: 0, cpu_share: 0.5}]]);
    },

    "CPU time that is not known is not 0"() {
        const moments = new Moments();
        const rows = [processRow("1", "a[1]", {cpu_ns: null}), processRow("2", "b[2]", {cpu_ns: 0}), processRow("3", "c[3]", {cpu_ns: 9, cpu_earlier_ns: 5})];
        const [, moment] = moments.add(1, snapshot(1, {processes: rows}));
        assert.deepEqual(rows.map(({name}) => at(nodeFields, named(moments, moments.nodes(moment, 0), name), "cpu")), [NaN, 0, 4]);
    },

    "the command for a part of the chart counts from the first record"() {
        const view = {page: {traces: "trace", history: {first_ns: 30e9, events: []}}};
        assert.equal(report.HistoryView.prototype.command.call(view, 1e9, 2e9).text, "dpm graph -o part.svg --from 31000.000ms --to 32000.000ms trace");
        assert.equal(report.HistoryView.prototype.command.call(view, null, 0), "");
    },

    "what was lost on a machine without a lane of its own is shown with the others"() {
        const lane = {id: "lane-others", name: "others ×2", machine: 0, processes: 2, most: 1, bins: {}, ns: {}, account: null, account_ns: {}};
        const losses = [0, 1].map((machine) => ({machine, begin: 1, end: 2, records: 100000 + machine, at_most: false}));
        const chart = {rows: new Node("div"), page: {machines: ["web1", "web14"].map((name) => ({name, clock_error_ns: 2e6})), lost: 200001, losses, kinds: [], lanes: [lane],
            time: {ns: 1e9, bins: 4, account_of: "run", account_ns: 0}}};
        report.Chart.prototype.addOthers.call(chart, lane, 1, [0]);
        assert.deepEqual(chart.rows.all("gap").map((gap) => gap.attributes.title), ["100,001 records lost here"]);
        assert.deepEqual(chart.rows.all("machine").map((head) => head.text), ["web14 its clock is known to ±2.00 ms; 100,001 records lost (hatched)"]);
    },

    "groups that are only counted are of no machine"() {
        const machines = [{name: "web1"}, {name: "web2"}];
        assert.equal(report.nodeText({machines}, {name: "12 others", machine: 0, outside: true, processes: 0}), "12 others");
        assert.equal(report.nodeText({machines}, {name: "nginx", machine: 1, outside: false, processes: 2}), "nginx ×2@web2");
    },

    "points in time have the digits in which neighbours differ"() {
        const events = [45.21e9, 45.21342e9, 45.21343e9, 45.22e9].map((time) => [time, 0, "SEND", false]);
        const view = Object.assign(Object.create(report.HistoryView.prototype), {extent: [45.21e9, 45.22e9], page: {history: {events, edges: [], lines: ["a[1]"], left_out: 5}},
            place: {replaceChildren(...children) { this.children = children; }}});
        view.show(null, 0);
        const [note, drawn] = view.place.children;
        assert.equal(note.text, "The page has the events from 45,210.00 ms to 45,220.00 ms; 5 others are left out. 4 events from 45,210.00 ms to 45,220.00 ms. ");
        assert.deepEqual(drawn.all("event").map((one) => one.text).slice(1, 3), ["SEND at 45,213.42 ms", "SEND at 45,213.43 ms"]);
        assert.deepEqual([0, 8962.5e9, 8981.25e9].map((time) => report.binText({time: {ns: 9000e9, bins: 480}}, time)), ["0 s", "8,963 s", "8,981 s"]);
        const place = {replaceChildren(...children) { this.children = children; }};
        const decisions = [9010e9, 9020.25e9].map((time_ns) => ({time_ns, text: "kept", reason: ""}));
        App.prototype.sayDecisions.call({moments: {list: [{decisions}]}, place: () => place});
        assert.deepEqual(place.children.map((one) => one.text), ["9,010.0 s kept", "9,020.3 s kept"]);
    },

    "shares of a request are of all its hops, also of those that are not shown"() {
        const request = {begin: 45.21342e9, ns: 200e6, who_ns: {"postgres[9]": 120e6, "app[8]": 20e6, unknown: 1e6}, left_out: 1, cut: true,
            hops: [{kind: "disk", ns: 6e5, who: "postgres[9]", at: 0, lane: "lane-2"}]};
        const rows = report.hopRows({kinds: []}, request, "slowest");
        assert.deepEqual(rows.map((row) => [row.text, row.all("bar").length]), [["postgres[9]60%", 1], ["app[8]10%", 0]]);
        const root = new Node("div");
        report.drawWaterfalls({kinds: [], requests: {count: 1, slowest: request}}, root, null);
        assert.match(root.text, /^The request: 200 ms.*It began at 45,213 ms\. Only its last 2,000 hops are known\. Its 1 hop as a table.*\(1 shorter one is left out\)/);
    },

    "figures that are small are not 0, times of two units are sorted by both"() {
        assert.equal(report.arcWords({requests: 2, per_second: 0.003, p50_ns: 1e6, p99_ns: 2e6})[0], "<0.01/s");
        const [label] = report.accountRow({time: {account_of: "requests"}, requests: {count: 600}}, {}, 0.32).children;
        assert.equal(label.attributes.title, "What requests spent their time on; at the busiest, 0.32 at once on average");
        assert.deepEqual(["2 min 05 s", "2 min 55 s", "1 h 05 min", "5 sends"].map(report.cellNumber), [125e9, 175e9, 3900e9, NaN]);
    },

    "what a process waited for is said with its length, and not of less than 1 ms"() {
        const kinds = [{key: "no_cpu", wait: "runnable, no CPU"}, {key: "in_flight", wait: "message"}];
        const says = (kind, time_ns, more = {}) => page.Details.prototype.waits.call({app: {about: {kinds}}}, {is_silent: false, living: 1, waits_for: {kind, time_ns, since_ns: null, what: null, ...more}})?.text;
        assert.equal(says("no_cpu", 30e3), undefined);
        assert.equal(says("no_cpu", 300e6), "What it waited for most: runnable, no CPU (300 ms).");
        assert.equal(says("in_flight", 100e6, {what: "server[200]", since_ns: 2e9}), "What it waited for most: message: server[200] (100 ms); one wait has lasted 2.00 s so far.");
    },

    "a peer that is not monitored has not ended"() {
        const app = {chosen: {from: 7, group: 1}, moments: {outside: new Set([7])}};
        assert.deepEqual(page.Details.prototype.tables.call({app}, {length_ns: 1e9, programs: [], processes: []}).map((one) => one.text), ["It is not monitored: only its arcs have values."]);
    },

    "why the matrix is empty"() {
        const says = (find, ...counts) => {
            page.Matrix.prototype.say.call({app: {find, group: 0, moment: {rest: {pairs: 0}}}}, ...counts);
            return pageDocument.places["matrix-note"].textContent;
        };
        assert.equal(says("", 0, 0, 0), "No messages yet.");
        assert.equal(says("zookeeper", 0, 0, 5), "Nothing has this text, or it is hidden.");
        assert.equal(says("", 0, 0, 5), "All rows are hidden.");
        assert.match(says("", 5, 5, 5), /^Rows send/);
    },

    "a connection that is there again is not said to be lost, although nothing more comes"() {
        const app = {connection: "The connection is lost; trying again.", why: {begin() {}}, place: () => ({}), draw() { this.drawn = this.connection; }};
        App.prototype.begin.call(app, {kinds: [], subject: "a"});
        assert.equal(app.drawn, "");
    },

    "one curve is not many"() {
        const app = {moments: {list: [{time: 0}, {time: 1e9}]}, strips: {marks: () => []}};
        const drawn = Curves.prototype.picture.call({app}, [{}], [], -1);
        assert.deepEqual(drawn.all("curves").map((one) => one.attributes["aria-label"]), ["1 curve, the last 1.00 s"]);
    },
};

for (const [name, run] of Object.entries(cases))
    try {
        run();
        console.log(`ok ${name}`);
    } catch (error) {
        console.log(`wrong: ${name}: ${error.stack}`);
    }
