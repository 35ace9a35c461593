/*
 * live_strips.js: the views that running monitors evaluate: a strip for each row of a view, as long as the history.
 *
 *      Long            active for 2.1 s            size: 17
 *      |......#####..##########........//....####|           # active, . inactive, / unknown
 *      |      _/\   /    ‾‾\                  /‾|           its values, while it is active
 *      |      !       !                      !  |           it has notified
 *
 * Only what the monitor says: what it does not say, or has not said yet, is unknown.
 */
const stripWidth = 1000;
const stripHeight = 34;
const stripKept = 660e9; /* ns */
const pointsMost = 6000;

class Strips {
    constructor(app, root) {
        this.app = app;
        this.root = root;
        this.rows = new Map(); /* monitor, view and row -> {view, name, segments: [{at, state}], points: [{at, values}], marks: [at]} */
        this.monitors = [];
        root.addEventListener("click", (event) => this.click(event));
    }

    /* ---- what comes: times are of wall clocks, ns ---- */

    row(monitor, view, name, since) {
        const key = JSON.stringify([monitor, view, name ?? ""]);
        if (!this.rows.has(key))
            this.rows.set(key, {key, monitor, view, name: name ?? "", segments: [{at: since, state: "unknown"}], points: [], marks: []});
        return this.rows.get(key);
    }

    become(row, state, at) {
        const last = row.segments.at(-1);
        if (last.state === state)
            return;
        if (at <= last.at)
            last.state = state;
        else
            row.segments.push({at, state});
    }

    take(monitors, moment) {
        this.monitors = monitors;
        for (const monitor of monitors) {
            this.takeGap(monitor);
            for (const change of monitor.changes)
                this.takeChange(monitor, change);
            this.takeState(monitor, moment);
        }
        const names = new Set(monitors.map((one) => one.monitor));
        for (const row of this.rows.values())
            if (!names.has(row.monitor))
                this.become(row, "gone", moment.wall);
        this.forget(moment.wall - stripKept);
    }

    /* Changes that the monitor has no longer kept: what was between them is not known. */
    takeGap(monitor) {
        if (monitor.missed === 0)
            return;
        for (const row of this.rows.values())
            if (row.monitor === monitor.monitor)
                this.become(row, "unknown", row.heard ?? row.segments.at(-1).at);
    }

    takeChange(monitor, change) {
        const row = this.row(monitor.monitor, change.view, change.row, change.time);
        this.become(row, change.change === "changed" ? "active" : change.change, change.time);
        if (change.values)
            row.points.push({at: change.time, values: change.values});
        if (change.notified)
            row.marks.push(change.time);
    }

    takeState(monitor, moment) {
        const listed = new Set();
        for (const view of monitor.views)
            for (const state of view.rows) {
                const row = this.row(monitor.monitor, view.view, state.row, state.since);
                listed.add(row);
                Object.assign(row, {info: view, state, monitorInfo: monitor});
                const is = monitor.unanswered ? "unknown" : state.state;
                const isFirst = row.segments.length === 1 && row.segments[0].state === "unknown" && row.heard === undefined;
                this.become(row, is, isFirst ? state.since : monitor.unanswered ? monitor.time : is === "unknown" ? monitor.time : Math.max(state.since, row.heard ?? 0));
                if (!monitor.unanswered)
                    row.heard = monitor.time;
                if (is === "active" && state.values)
                    row.points.push({at: monitor.time, values: state.values});
            }
        for (const row of this.rows.values())
            if (row.monitor === monitor.monitor && !listed.has(row)) {
                if (this.wasActive(row))
                    this.become(row, "gone", moment.wall);
                else /* it is there, and counted with those that were never active */
                    this.rows.delete(row.key);
            }
    }

    wasActive(row) {
        return row.state?.times > 0 || row.segments.some((one) => one.state === "active");
    }

    forget(before) {
        for (const [key, row] of this.rows) {
            while (row.segments.length > 1 && row.segments[1].at < before)
                row.segments.shift();
            row.points.splice(0, Math.max(row.points.findIndex((point) => point.at >= before), row.points.length - pointsMost, 0));
            row.marks = row.marks.filter((at) => at >= before);
            if (row.segments.length === 1 && row.segments[0].state === "gone" && row.segments[0].at < before)
                this.rows.delete(key);
        }
    }

    /* ---- what is drawn ---- */

    /* From a time of the wall clock to that of the moments. */
    timeOf(at) {
        const latest = this.app.moments.list.at(-1);
        return at - (latest.wall - latest.time);
    }

    /* Times of notifications, for the history. */
    marks() {
        return [...this.rows.values()].flatMap((row) => row.marks.map((at) => ({time: this.timeOf(at), name: this.name(row)})));
    }

    name(row) {
        return row.name === "" ? row.view : `${row.view}[${row.name}]`;
    }

    update() {
        const order = this.monitors.flatMap((one) => one.views.map((view) => `${one.monitor} ${view.view}`)); /* as in their files */
        const rows = [...this.rows.values()].sort((a, b) => order.indexOf(`${a.monitor} ${a.view}`) - order.indexOf(`${b.monitor} ${b.view}`));
        this.root.closest("section").hidden = rows.length === 0 && this.monitors.length === 0;
        const quiet = this.monitors.flatMap((one) => one.views).filter((view) => view.rows_quiet > 0)
            .map((view) => element("p", {class: "note", "data-key": `quiet ${view.view}`}, `${view.view}[*]: ${countedText(view.rows_quiet, "row")} that ${view.rows_quiet === 1 ? "was" : "were"} never active.`));
        morphChildren(this.root, [...this.warnings(), ...rows.map((row) => this.strip(row)), ...quiet]);
    }

    warnings() {
        const texts = [];
        for (const one of this.monitors) {
            const of = this.monitors.length > 1 ? `Monitor ${one.monitor}: ` : "";
            if (one.unanswered)
                texts.push(`${of}${of ? one.unanswered : one.unanswered.replace(/^./, (first) => first.toUpperCase())}. Nothing is known of its views since then.`);
            for (const machine of one.machines)
                if (machine.late)
                    texts.push(`${of}${machine.machine} is late: views with its values are unknown.`);
            if (one.lost > 0)
                texts.push(`${of}${countedText(one.lost, "record")} of sensors ${one.lost === 1 ? "was" : "were"} lost: strips may be wrong.`);
            const leftOut = one.views.reduce((sum, view) => sum + view.rows_left_out, 0);
            if (leftOut > 0)
                texts.push(`${of}${countText(leftOut)} more ${leftOut === 1 ? "row is" : "rows are"} not shown.`);
        }
        return texts.map((text) => element("p", {class: "note", "data-key": `warning ${text}`}, text));
    }

    /* What it was at this moment. */
    at(row, wall) {
        return row.segments.findLast((one) => one.at <= wall);
    }

    says(row, moment) {
        const now = this.at(row, moment.wall);
        if (!now || now.state === "gone")
            return [now ? "ended" : "not there yet", ""];
        const isLatest = !this.app.held && row.segments.at(-1) === now;
        const why = now.state === "unknown" && isLatest ? row.monitorInfo?.unanswered ?? row.state?.reason : null;
        const point = now.state === "active" ? row.points.findLast((one) => one.at <= moment.wall && one.at >= now.at) : null;
        const values = Object.entries(point?.values ?? {}).map(([name, value]) => `${name}: ${value === null ? "unknown" : typeof value === "number" ? plainNumber(value) : value}`);
        return [`${now.state}${why ? ` (${why})` : ""}, for ${duration(moment.wall - now.at)}`, values.join("  ")];
    }

    strip(row) {
        const {moment, moments: {list}} = this.app;
        const end = list.at(-1).time, begin = Math.max(list[0].time, end - curveSpan * 1e9);
        const x = (time) => end === begin ? stripWidth : Math.min(1, Math.max(0, (time - begin) / (end - begin))) * stripWidth;
        const [state, values] = this.says(row, moment);
        const {state: is} = this.at(row, moment.wall) ?? {state: "gone"};
        const picture = shape("svg", {viewBox: `0 0 ${stripWidth} ${stripHeight}`, preserveAspectRatio: "none", class: "strip-picture", role: "img", "aria-label": `${this.name(row)}: ${state}`});
        row.segments.forEach((one, i) => {
            const [from, to] = [x(this.timeOf(one.at)), x(i + 1 < row.segments.length ? this.timeOf(row.segments[i + 1].at) : end)];
            if (one.state !== "gone" && (to > from || (to > 0 && to < stripWidth)))
                picture.append(shape("rect", {class: `strip-${one.state}`, x: from.toFixed(1), y: one.state === "inactive" ? stripHeight - 5 : 0, width: Math.max(1.5, to - from).toFixed(1),
                    height: one.state === "inactive" ? 5 : stripHeight}));
        });
        picture.append(shape("path", {class: "strip-curve", d: this.curve(row, x)}));
        for (const at of row.marks)
            if (this.timeOf(at) >= begin)
                picture.append(shape("line", {class: "strip-mark", x1: x(this.timeOf(at)).toFixed(1), x2: x(this.timeOf(at)).toFixed(1), y1: 0, y2: 12}));
        picture.append(shape("line", {x1: x(moment.time), x2: x(moment.time), y1: 0, y2: stripHeight, class: "cursor"}));
        const head = element("p", {class: "strip-head"}, element("strong", {}, this.name(row)), " ", element("span", {class: `strip-word strip-is-${is}`}, state), " ", element("span", {}, values));
        const more = element("details", {class: "strip-more"}, element("summary", {}, "Condition and plan"), element("dl", {}, ...this.facts(row)));
        return element("div", {class: "strip", "data-key": row.key}, head, picture, more);
    }

    /* The first value that is a number, from its least to its greatest. */
    curve(row, x) {
        const name = Object.keys(row.points.at(-1)?.values ?? {}).find((one) => typeof row.points.at(-1).values[one] === "number");
        const numbers = row.points.map((point) => point.values[name]).filter((value) => typeof value === "number");
        const least = Math.min(0, ...numbers), most = Math.max(...numbers, least + 1e-9);
        const y = (value) => stripHeight - 2 - (value - least) / (most - least) * (stripHeight - 6);
        let path = "", last = null;
        for (const {at, values} of row.points) {
            if (typeof values[name] !== "number")
                continue;
            const segment = this.at(row, at);
            const to = `${x(this.timeOf(at)).toFixed(1)},${y(values[name]).toFixed(1)}`;
            path += last === segment ? `H${x(this.timeOf(at)).toFixed(1)}V${y(values[name]).toFixed(1)}` : `M${to}h.01`;
            last = segment;
        }
        return path;
    }

    facts(row) {
        const {info} = row, facts = [];
        const add = (name, text) => facts.push(element("dt", {}, name), element("dd", {}, text));
        if (!info)
            return facts;
        add("Active when", info.predicate);
        if (info.correct !== undefined)
            add(`Correct to within ${duration(info.correct)}`, correctText(info));
        if (info.within !== undefined)
            add(`Notify within ${duration(info.within)}`, withinText(info));
        if (info.plan) {
            add("Plan", [...info.plan.instances.map((one) => `${one.instance}: ${one.how}`), `evaluated in the ${info.plan.evaluated === "central" ? "central monitor" : info.plan.evaluated === "resident" ? "resident monitor" : "sensor"}`].join("; "));
            add("Costs, as planned", `${duration(info.plan.per_record)} of CPU time for each record of a sensor, ${threeDigits(info.plan.records)} records/s and ${threeDigits(info.plan.messages)} messages/s expected`);
            const rates = info.measured;
            if (rates && rates.why && (rates.load > 1 || rates.replanned > 0))
                add("Rates", `${rates.load > 1 ? "the view cannot be kept" : "the plan has changed"}: ${rates.why}`);
        }
        add("Became active", row.state.times === 1 ? "once since the monitor began" : `${countText(row.state.times)} times since the monitor began`);
        return facts;
    }

    click(event) {
        const picture = event.target.closest(".strip-picture");
        const {list} = this.app.moments;
        if (!picture || list.length === 0)
            return;
        const {left, width} = picture.getBoundingClientRect();
        const end = list.at(-1).time, begin = Math.max(list[0].time, end - curveSpan * 1e9);
        this.app.holdAt(begin + (event.clientX - left) / width * (end - begin));
    }
}

function plainNumber(value) {
    return Number.isInteger(value) ? `${value < 0 ? "−" : ""}${countText(Math.abs(value))}` : String(Number(value.toPrecision(6)));
}

function correctText({correct_is: is, correct, delay, plan}) {
    if (is === "kept")
        return delay <= correct ? `kept: values were at most ${duration(delay)} old when they were evaluated`
            : `kept: only values of the same moment were compared, at most ${duration(delay)} after it`;
    if (is === "doubtful")
        return delay <= correct ? "perhaps not kept: records were lost" : `perhaps not kept: a value was ${duration(delay)} old when it was evaluated`;
    return is === "impossible" ? `no plan keeps it: values can be ${duration(plan.window)} apart` : "not known yet";
}

function withinText({notifications: of, receiver}) {
    const dropped = of.dropped > 0 ? `, ${countText(of.dropped)} dropped` : "";
    const late = of.late > 0 ? `${countText(of.late)} of ${countText(of.sent)} late, by up to ${duration(of.latest)}` : of.sent > 0 ? `kept: ${countText(of.sent)} sent in time` : "none sent yet";
    return `${late}${dropped}; to ${receiver}`;
}
