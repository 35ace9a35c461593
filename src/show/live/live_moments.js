/*
 * live_moments.js: the snapshots of the last ten minutes, as the page keeps them.
 *
 *      event --> moment {number, time, seconds, text,
 *                        nodes: [processes, programs, containers, machines], each {names, values}
 *                        arcs: {from, to, values}}
 *
 * Names are numbers here, and values stand in typed arrays, so that 600 moments of 200 processes take tens of megabytes. The text of a
 * snapshot, with all that it has, is kept as long as all of them together have at most 64 MiB.
 */
const momentsMost = 600;
const textsMost = 64 * 1024 * 1024;

const nodeFields = ["cpu", "sent", "bytes", "sentSoFar", "bytesSoFar", "queue", "delay", "requests", "p50", "p99", "living"];
const arcFields = ["sent", "bytes", "sentSoFar", "bytesSoFar", "queue", "delay", "wait", "requests", "p50", "p99"];
const groupings = ["processes", "programs", "containers", "machines"];
const quantiles = ["p50", "p99"]; /* of several connections the greatest counts: these have no sum */
const standing = ["sentSoFar", "bytesSoFar", "queue", "living"]; /* what is now, and not what came in an interval */
const spent = ["cpu", "delay", "wait"]; /* times, which are not known of a moment in which no record came */
const restShare = 0.1; /* of an interval: what is left at the end is no rate if it is less, as in dpm top */

/* Processes have keys that stay, and names that may change: redis-server[12] becomes "redis-server *:6379[12]" when there is another. */
class Names {
    constructor() {
        this.list = [];
        this.numbers = new Map();
    }

    number(key, name) {
        let number = this.numbers.get(key);
        if (number === undefined) {
            number = this.list.length;
            this.numbers.set(key, number);
        }
        this.list[number] = name;
        return number;
    }

    /* Names of groups are cut: their keys tell them apart. An unmonitored host has none. */
    group(name, grouping, key = name) {
        return this.number(`${grouping} ${key}`, name);
    }
}

const unknownPeers = "unmonitored peers"; /* of which only requests are counted, together */

function orNaN(value) {
    return value ?? NaN;
}

/* NaN: not known, as in some recordings of other systems. */
function cpuValue(row) {
    return row.cpu_ns === null || row.cpu_ns === undefined ? NaN : Math.max(0, row.cpu_ns - (row.cpu_earlier_ns ?? 0));
}

function nodeValues(row) {
    return [cpuValue(row), row.sent.messages, orNaN(row.sent.bytes), row.so_far.sent.messages, orNaN(row.so_far.sent.bytes),
        orNaN(row.queue?.messages), orNaN(row.queue_delay_ns), orNaN(row.requests?.count), orNaN(row.requests?.p50_ns), orNaN(row.requests?.p99_ns), orNaN(row.living)];
}

function pairValues(row) {
    return [row.sent.messages, orNaN(row.sent.bytes), row.so_far.sent.messages, orNaN(row.so_far.sent.bytes), NaN, row.queue_delay_ns, row.receiver_wait_ns, NaN, NaN, NaN];
}

/* Its messages are those of pairs. */
function connectionValues(row) {
    return [NaN, NaN, NaN, NaN, orNaN(row.queue.messages), NaN, NaN, row.requests.count, orNaN(row.requests.p50_ns), orNaN(row.requests.p99_ns)];
}

/* Adds the values of another row to some: NaN is what is not known. */
function addValues(fields, to, from) {
    fields.forEach((field, i) => {
        const value = from[i] ?? NaN;
        if (Number.isNaN(value))
            return;
        to[i] = Number.isNaN(to[i]) ? value : quantiles.includes(field) ? Math.max(to[i], value) : to[i] + value;
    });
}

/* "10.0.0.7:41234" is one of many of 10.0.0.7; "socket#4711" one of many sockets. */
function hostOf(address) {
    return address.replace(/:\d+$/, "").replace(/^(\w+)#\d+$/, "unmonitored $1s");
}

class Moments {
    constructor() {
        this.list = [];
        this.names = new Names();
        this.groups = []; /* of the name of a process or peer: [itself, program, container, machine] */
        this.outside = new Set();
        this.clients = new Set(); /* "from to", names of processes: who connected to whom */
        this.peers = new Set(); /* "outside inside": what has sent or received, wherever it connected */
        this.textSize = 0;
    }

    /* The groups of an end of a pair or connection. */
    end(row, side) {
        const number = this.names.number(row[`${side}_key`], row[side]);
        if (row[`${side}_program`] !== undefined)
            return this.belongs(number, row, `${side}_`);
        if (row[side] === "unknown")
            this.names.list[number] = unknownPeers;
        const host = this.names.group(hostOf(this.names.list[number]), "outside");
        this.outside.add(number).add(host);
        this.groups[number] = [number, host, host, host];
        return number;
    }

    belongs(number, row, prefix) {
        this.groups[number] = [number, ...["program", "container", "machine"].map((grouping, i) => this.names.group(row[prefix + grouping], groupings[i + 1], row[`${prefix}${grouping}_key`]))];
        return number;
    }

    nodesOf(rows, grouping) {
        const all = new Map();
        for (const row of rows) {
            const number = grouping === groupings[0] ? this.belongs(this.names.number(row.key, row.name), row, "") : this.names.group(row.name, grouping, row.key);
            const before = all.get(number);
            if (before)
                addValues(nodeFields, before, nodeValues(row));
            else
                all.set(number, nodeValues(row));
        }
        return {names: Int32Array.from(all.keys()), values: Float64Array.from([...all.values()].flat())};
    }

    /* Connections of unmonitored clients are one row for each server, without their names. If only one unmonitored peer sends to the
     * server, they are its connections: {server: peer}; undefined: there are several, or it has no name. */
    onlyClients(interval) {
        const all = new Map();
        if (interval.other_pairs)
            return all;
        for (const row of interval.pairs)
            if (row.from_program === undefined && row.to_program !== undefined) {
                const to = this.end(row, "to");
                all.set(to, all.has(to) || row.from === "unknown" ? undefined : this.end(row, "from"));
            }
        return all;
    }

    arcsOf(interval) {
        const all = new Map();
        const add = (from, to, values) => {
            const key = `${from} ${to}`;
            const before = all.get(key);
            if (before)
                addValues(arcFields, before.values, values);
            else
                all.set(key, {from, to, values});
        };
        for (const row of interval.pairs) {
            const [from, to] = [this.end(row, "from"), this.end(row, "to")];
            add(from, to, pairValues(row));
            if (this.outside.has(from) !== this.outside.has(to))
                this.peers.add(this.outside.has(from) ? `${from} ${to}` : `${to} ${from}`);
        }
        const clients = this.onlyClients(interval);
        for (const row of interval.connections) {
            const to = this.end(row, "to");
            if (row.from === "unknown" && !clients.get(to) && row.requests.count === 0 && !row.queue.messages)
                continue; /* it says nothing, of nothing that has a name */
            const from = row.from === "unknown" ? clients.get(to) ?? this.end(row, "from") : this.end(row, "from");
            this.clients.add(`${from} ${to}`);
            add(from, to, connectionValues(row));
        }
        const list = [...all.values()];
        return {from: Int32Array.from(list, (arc) => arc.from), to: Int32Array.from(list, (arc) => arc.to), values: Float64Array.from(list.flatMap((arc) => arc.values))};
    }

    /* Sums of the rows that a snapshot leaves out. */
    restOf(interval) {
        const arcs = new Array(arcFields.length).fill(NaN);
        if (interval.other_pairs)
            addValues(arcFields, arcs, pairValues(interval.other_pairs));
        if (interval.other_connections)
            addValues(arcFields, arcs, connectionValues(interval.other_connections));
        const nodes = groupings.map((table) => interval[`other_${table}`]).map((row) => ({count: row?.rows ?? 0, values: row ? nodeValues(row) : []}));
        return {nodes, arcs, pairs: interval.other_pairs?.rows ?? 0};
    }

    add(number, text) {
        const {time, interval, views} = JSON.parse(text);
        const moment = {number, time: time.elapsed_ns, wall: time.wall_ns, last: time.last, seconds: interval.length_ns / 1e9, text,
            nodes: groupings.map((table) => this.nodesOf(interval[table], table)), arcs: this.arcsOf(interval),
            rest: this.restOf(interval), decisions: interval.decisions,
            whole: {records: interval.records, lost: interval.lost_so_far, events: interval.events, recorder: interval.recorder_share, reader: interval.reader_cpu_ns,
                machines: interval.machine_states}};
        if (interval.stands)
            this.forgetTimes(moment);
        const before = this.list.at(-1);
        this.textSize += text.length;
        if (moment.last && before && moment.seconds < restShare * before.seconds)
            this.takeRest(before, moment);
        else
            this.list.push(moment);
        if (this.list.length > momentsMost)
            this.textSize -= this.list.shift().text?.length ?? 0;
        for (let i = 0; this.textSize > textsMost && i < this.list.length - 1; i++) {
            this.textSize -= this.list[i].text?.length ?? 0;
            this.list[i].text = null;
        }
        return [views ?? [], moment];
    }

    /* They would be 0: as if nothing had computed or waited. */
    forgetTimes({nodes, arcs, rest}) {
        const forget = (fields, values) => {
            for (let i = 0; i < values.length; i++)
                if (spent.includes(fields[i % fields.length]))
                    values[i] = NaN;
        };
        for (const {values} of [...nodes, ...rest.nodes])
            forget(nodeFields, values);
        forget(arcFields, arcs.values);
        forget(arcFields, rest.arcs);
    }

    /* The recording ends 2 ms after the last whole interval, say: rates stay those of that interval, all else is what it is at the end. */
    takeRest(before, moment) {
        const keepRates = (fields, values, was) => fields.forEach((field, i) => {
            if (was && !standing.includes(field))
                values[i] = was[i];
        });
        groupings.forEach((_, group) => {
            const was = this.nodes(before, group);
            this.nodes(moment, group).forEach((values, name) => keepRates(nodeFields, values, was.get(name)));
            keepRates(nodeFields, moment.rest.nodes[group].values, before.rest.nodes[group].values);
        });
        const was = this.arcs(before, 0);
        this.arcs(moment, 0).forEach(({values}, key) => keepRates(arcFields, values, was.get(key)?.values));
        keepRates(arcFields, moment.rest.arcs, before.rest.arcs);
        this.textSize -= before.text?.length ?? 0;
        before.whole.lost = moment.whole.lost;
        const load = (machine) => before.whole.machines.find((one) => one.name === machine.name)?.cpu_share ?? machine.cpu_share;
        before.whole.machines = moment.whole.machines.map((machine) => ({...machine, cpu_share: load(machine)}));
        const {number, last, text, nodes, arcs, rest} = moment;
        Object.assign(before, {number, last, text, nodes, arcs, rest, decisions: [...before.decisions, ...moment.decisions]});
    }

    /* {name: values} of a moment, by one of the groupings. */
    nodes(moment, group) {
        const {names, values} = moment.nodes[group];
        const all = new Map();
        names.forEach((name, i) => all.set(name, values.subarray(i * nodeFields.length, (i + 1) * nodeFields.length)));
        return all;
    }

    /* {"from to": {from, to, values}} of a moment, by one of the groupings. */
    arcs(moment, group) {
        const {from, to, values} = moment.arcs;
        const all = new Map();
        for (let i = 0; i < from.length; i++) {
            const [one, other] = [this.groups[from[i]][group], this.groups[to[i]][group]];
            const own = values.subarray(i * arcFields.length, (i + 1) * arcFields.length);
            const before = all.get(`${one} ${other}`);
            if (before)
                addValues(arcFields, before.values, own);
            else
                all.set(`${one} ${other}`, {from: one, to: other, values: group === 0 ? own : own.slice()});
        }
        return all;
    }

    /* Which group has connected to another one: "from to". Connections of unmonitored clients are one row: so an unmonitored peer is
     * a client unless something has connected to it. */
    clientsOf(group) {
        const all = new Set();
        const add = (key) => {
            const [from, to] = key.split(" ").map((end) => this.groups[end][group]);
            if (from !== to && !all.has(`${to} ${from}`))
                all.add(`${from} ${to}`);
        };
        this.clients.forEach(add);
        this.peers.forEach(add);
        return all;
    }
}

/* A name that fits: what is too long loses its middle, but not "[4711]@web1" at its end. dpm may have cut it before: "back_...1[4711]". */
function shortName(name, most) {
    const end = /\[\d+\](?:@.*)?$|@[^@]*$/.exec(name)?.[0] ?? "";
    return name.length <= most || end.length > most - 4 ? shortText(name, most) : shortText(name.slice(0, name.length - end.length), most - end.length).replace(/\.+…$/, "…") + end;
}

/* ---- metrics ---- */

const timesNote = "Times are those of the server: from reading a request to the end of its answer. What a request waits before is queue delay. " +
    "If only the client is monitored, they are its own.";

/* Each is made of the values of a row and the seconds of its interval; NaN: not known. */
const metrics = [
    {key: "sent", name: "messages per second", unit: "rate", of: (v, s) => v("sent") / s, sums: true},
    {key: "bytes", name: "bytes per second", unit: "bytes_rate", of: (v, s) => v("bytes") / s, sums: true},
    {key: "sentSoFar", name: "messages so far", unit: "count", of: (v) => v("sentSoFar"), sums: true},
    {key: "bytesSoFar", name: "bytes so far", unit: "bytes", of: (v) => v("bytesSoFar"), sums: true},
    {key: "size", name: "mean message size", unit: "bytes", of: (v) => v("sent") > 0 ? v("bytes") / v("sent") : NaN},
    {key: "queue", name: "queue length", unit: "count", of: (v) => v("queue"), sums: true},
    {key: "wait", name: "receive wait", unit: "share", of: (v, s) => v("wait") / 1e9 / s, sums: true},
    {key: "delay", name: "queue delay", unit: "share", of: (v, s) => v("delay") / 1e9 / s, sums: true},
    {key: "requests", name: "requests per second", unit: "rate", of: (v, s) => v("requests") / s, sums: true},
    {key: "p50", name: "requests, p50", unit: "time", of: (v) => v("p50"), note: timesNote},
    {key: "p99", name: "requests, p99", unit: "time", of: (v) => v("p99"), note: timesNote},
    {key: "cpu", name: "CPU time", unit: "share", of: (v, s) => v("cpu") / 1e9 / s, sums: true},
];

function metricOf(metric, fields, values, seconds) {
    const read = (field) => {
        const index = fields.indexOf(field);
        return index < 0 ? NaN : values[index];
    };
    return values && seconds > 0 ? metric.of(read, seconds) : NaN;
}

/* From one moment to the next. If no event has come, their times are the same. */
function secondsSince(before, moment) {
    return Math.max(moment.seconds, (moment.time - before.time) / 1e9);
}

function shortCount(value) {
    for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "K"]])
        if (value >= size)
            return `${threeDigits(value / (unit === "K" ? 1e3 : size))}${unit}`;
    return value >= 100 || Number.isInteger(value) ? countText(value) : threeDigits(value);
}

function plainText(unit, value) {
    switch (unit) {
    case "rate":
        return `${shortCount(value)}/s`;
    case "bytes_rate":
        return `${bytesText(Math.round(value))}/s`;
    case "bytes":
        return bytesText(Math.round(value));
    case "share":
        return percent(value);
    case "time":
        return duration(value);
    default:
        return shortCount(value);
    }
}

/* A value, or by how much it changes in a second. */
function metricText(metric, value, isChange) {
    if (Number.isNaN(value))
        return "–";
    if (!isChange)
        return plainText(metric.unit, value);
    const sign = value > 0 ? "+" : value < 0 ? "−" : "";
    return `${sign}${plainText(metric.unit, Math.abs(value))} in 1 s`;
}
