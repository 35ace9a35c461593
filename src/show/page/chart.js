/*
 * chart.js: one chart of the whole time.
 *
 *      # no CPU 61%  = message 30%                                 the account (`dpm why`) by kinds: the legend
 *      120 requests          |====#######====##|                   ... and over time
 *      web1                  | clock: first                        a machine, with the bounds of its clock
 *      > nginx x2       12%  |..  ..##....##   |                   a lane: threads by what they do, stacked, faint
 *                            |==      ==     ==|                   ... and its part of the account
 *        postgres[47]   61%  |  #####   ####/////|                 ///: records were lost
 *                            0      1 s     2 s
 *      Part of the time: [from ----o] [to --o--]   [Zoom]          or drag over the lanes
 *
 * Every lane is an SVG picture of `bins` units of width, stretched to the width of the page: nothing is drawn again when that
 * changes, and paper gets the same. The choice of a part is handed to whoever listens: `onPart(from, to)` in ns.
 */
const memberHeight = 16;
const accountHeight = 60;

/* Few lanes are higher: the chart fills the first screen, and no more. */
function laneHeight(page) {
    return Math.round(Math.min(44, Math.max(18, 250 / page.lanes.length - 14)));
}

function stripHeight(page) {
    return page.lanes.length > 8 ? 9 : 14;
}

/* The outline of a stack from `below` to `above`, in steps: [0..1] of the height. */
function stackPath(below, above, height) {
    const y = (value) => ((1 - value) * height).toFixed(2);
    let path = "";
    let open = -1;
    const close = (end) => {
        for (let i = end - 1; i >= open; i--)
            path += `V${y(below[i])}H${i}`;
        path += "Z";
        open = -1;
    };
    above.forEach((value, i) => {
        if (value > below[i] && open < 0) {
            open = i;
            path += `M${i},${y(below[i])}`;
        } else if (value <= below[i] && open >= 0) {
            close(i);
        }
        if (open >= 0)
            path += `V${y(value)}H${i + 1}`;
    });
    if (open >= 0)
        close(above.length);
    return path;
}

function unpackAll(bins) {
    return Object.fromEntries(Object.entries(bins).map(([key, text]) => [key, unpack(text)]));
}

function laneBins(lane) {
    lane.unpacked ??= unpackAll(lane.bins);
    return lane.unpacked;
}

/* In threads, or requests. */
function accountBins(lane) {
    if (!lane.account_unpacked) {
        const bins = lane.account ? unpackAll(lane.account.bins) : {};
        lane.account_unpacked = Object.fromEntries(Object.entries(bins).map(([key, values]) => [key, values.map((value) => value * lane.account.most)]));
    }
    return lane.account_unpacked;
}

/* The account of all lanes, as that of one. */
function wholeAccount(page) {
    const sums = {};
    for (const lane of page.lanes)
        for (const [key, values] of Object.entries(accountBins(lane))) {
            sums[key] ??= Array(values.length).fill(0);
            values.forEach((value, i) => {
                sums[key][i] += value;
            });
        }
    return sums;
}

function mostOf(bins) {
    const all = Object.values(bins);
    return all.length === 0 ? 0 : Math.max(...all[0].map((_, i) => all.reduce((sum, values) => sum + values[i], 0)));
}

/* Kinds on top of each other; `most`: what is as high as the picture. */
function stackPicture(bins, most, height, name) {
    const keys = kindOrder.filter((key) => key in bins);
    const count = keys.length > 0 ? bins[keys[0]].length : 1;
    const picture = shape("svg", {viewBox: `0 0 ${count} ${height}`, preserveAspectRatio: "none", height, class: name,
        "aria-hidden": "true", "data-bins": count});
    let below = Array(count).fill(0);
    for (const key of keys) {
        const above = below.map((value, i) => Math.min(1, value + bins[key][i] / most));
        const path = shape("path", {d: stackPath(below, above, height)});
        path.style.fill = kindColour(key);
        picture.append(path);
        below = above;
    }
    return picture;
}

function sumOf(object) {
    return Object.values(object).reduce((sum, value) => sum + value, 0);
}

/* "computing 61%, message in flight 30%": the largest kinds of a lane. */
function kindsText(page, ns) {
    const all = sumOf(ns);
    return Object.entries(ns).sort((a, b) => b[1] - a[1]).slice(0, 3)
        .map(([key, value]) => `${waitName(page, key)} ${percent(value / all)}`).join(", ");
}

/* ---- rows ---- */

function laneLabel(page, lane, opens) {
    const share = page.time.account_ns > 0 ? sumOf(lane.account_ns) / page.time.account_ns : 0;
    const threads = lane.most > 1.05 ? `, up to ${threeDigits(lane.most)} threads at once` : "";
    const rest = `of the ${page.time.account_of === "run" ? "elapsed time" : "time of requests"}; its threads: ${kindsText(page, lane.ns)}${threads}`;
    const title = `${lane.name}: ${percent(share)} ${rest}`;
    const parts = [element("span", {class: "lane-name"}, lane.name), " ", element("span", {class: "lane-share"}, percent(share)), " ",
        element("span", {class: "hidden"}, rest)];
    return opens ? element("button", {type: "button", class: "lane-label", "aria-expanded": "false", title}, ...parts)
        : element("div", {class: "lane-label", title}, ...parts);
}

function laneRow(page, lane, height, most, label, strip = stripHeight(page)) {
    const plot = element("div", {class: "plot", "data-lane": lane.id}, stackPicture(laneBins(lane), 1, height, "threads"),
        stackPicture(accountBins(lane), most, strip, "strip"));
    return element("div", {class: "lane", id: lane.id}, label, plot);
}

function addLane(page, lane, most, rows) {
    const members = lane.members ?? [];
    const label = laneLabel(page, lane, members.length > 0);
    const row = laneRow(page, lane, laneHeight(page), most, label);
    const inner = element("div", {class: "members", hidden: true});
    for (const member of members)
        inner.append(laneRow(page, member, memberHeight, most, laneLabel(page, member, false), 7));
    const more = lane.processes - members.length;
    if (members.length > 0 && more > 0)
        inner.append(element("p", {class: "note"}, `${countedText(more, "more process")} ${more === 1 ? "is" : "are"} only in the lane.`));
    label.addEventListener("click", () => {
        inner.hidden = !inner.hidden;
        label.setAttribute("aria-expanded", String(!inner.hidden));
    });
    rows.append(row);
    if (members.length > 0)
        rows.append(inner);
}

/* Records lost on machines: a gap over all lanes of the block, at least two pixels wide. */
function addLosses(page, machines, block) {
    const losses = page.losses.filter((loss) => machines.includes(loss.machine));
    const cover = element("div", {class: "cover", "aria-hidden": "true"});
    for (const loss of losses) {
        const gap = element("span", {class: "gap", title: `${loss.at_most ? "up to " : ""}${countedText(loss.records, "record")} lost here`});
        gap.dataset.from = loss.begin;
        gap.dataset.to = loss.end;
        cover.append(gap);
    }
    block.append(cover);
    return losses;
}

function machineHead(page, index, losses) {
    const machine = page.machines[index] ?? {name: "machine"};
    const lost = losses.reduce((sum, loss) => sum + loss.records, 0);
    const words = [];
    if (page.machines.length > 1 && index > 0)
        words.push(machine.clock_error_ns === null ? "its clock cannot be compared: no messages went both ways"
            : `its clock is known to ±${duration(machine.clock_error_ns)}`);
    if (lost > 0)
        words.push(`${losses.some((loss) => loss.at_most) ? "up to " : ""}${countedText(lost, "record")} lost (hatched)`);
    const known = page.losses.reduce((sum, loss) => sum + loss.records, 0);
    if (index === 0 && page.lost > known)
        words.push(`${countedText(page.lost - known, "record")} lost, no record says when`);
    if (page.machines.length < 2 && words.length === 0)
        return null;
    const head = element("div", {class: "machine"}, element("strong", {}, machine.name), words.length > 0 ? ` ${words.join("; ")}` : "");
    if (index > 0 && machine.clock_error_ns) {
        const bound = element("span", {class: "bound", title: `±${duration(machine.clock_error_ns)}`});
        bound.dataset.length = 2 * machine.clock_error_ns;
        head.append(element("span", {class: "bounds", "aria-hidden": "true"}, bound));
    }
    return head;
}

/* What the account is made of, largest first, and what other colours there are. */
function legend(page) {
    const sums = {};
    for (const lane of page.lanes)
        for (const [key, ns] of Object.entries(lane.account_ns))
            sums[key] = (sums[key] ?? 0) + ns;
    const spent = Object.keys(sums).sort((a, b) => sums[b] - sums[a]);
    const others = kindOrder.filter((key) => page.lanes.some((lane) => key in lane.ns && lane.ns[key] > 0) && !spent.includes(key));
    const list = element("ul", {class: "kinds", "aria-label": "What the time was spent on"});
    spent.filter((key) => page.time.account_ns > 0 && sums[key] >= page.time.account_ns * 0.001).forEach((key) => list.append(element("li", {}, swatch(key), `${kindName(page, key)} `,
        element("strong", {}, percent(sums[key] / page.time.account_ns)))));
    return element("div", {}, list, ...(others.length === 0 ? [] : [element("ul", {class: "kinds quiet", "aria-label": "Other colours"},
        element("li", {}, "in threads also:"), ...others.map((key) => element("li", {}, swatch(key), waitName(page, key))))]));
}

/* What the run, or the requests, spent their time on: the sum of all strips. */
function accountRow(page, bins, most) {
    const name = page.time.account_of === "run" ? "The run" : countedText(page.requests?.count ?? 0, "request");
    const title = page.time.account_of === "run" ? "What the run waited for: all of it at each moment"
        : `What requests spent their time on; at the busiest, ${threeDigits(most)} at once on average`;
    return element("div", {class: "lane account"}, element("div", {class: "lane-label", title}, element("span", {class: "lane-name"}, name), " ",
        element("span", {class: "lane-share"}, "100%")),
    element("div", {class: "plot", "data-lane": "account"}, stackPicture(bins, most, accountHeight, "whole")));
}

/* ---- a part of the time ---- */

/* A point in time as sliders can choose it: ns. */
function binText(page, time) {
    return timeText(time, page.time.ns / page.time.bins);
}

/* What lanes did from bin `from` to bin `to`, as a table. */
function partTable(page, from, to) {
    const bins = page.time.bins;
    const width = page.time.ns / bins;
    const body = element("tbody");
    const sums = page.lanes.map((lane) => Object.fromEntries(Object.entries(laneBins(lane)).map(([key, values]) =>
        [key, values.slice(from, to).reduce((sum, value) => sum + value, 0) * lane.most * width])));
    const keys = kindOrder.filter((key) => sums.some((sum) => sum[key] > 0));
    page.lanes.forEach((lane, i) => {
        if (sumOf(sums[i]) > 0)
            body.append(element("tr", {}, element("th", {scope: "row"}, element("a", {href: `#${lane.id}`}, lane.name)),
                ...keys.map((key) => element("td", {class: "figures"}, sums[i][key] > 0 ? duration(sums[i][key]) : ""))));
    });
    return element("table", {}, element("caption", {}, `Time of threads from ${binText(page, from * width)} to ${binText(page, to * width)}`),
        element("thead", {}, element("tr", {}, element("th", {scope: "col"}, "Lane"),
            ...keys.map((key) => element("th", {scope: "col", class: "figures"}, waitName(page, key))))), body);
}

function slider(name, value, most, page) {
    const input = element("input", {type: "range", min: 0, max: most, value, step: 1});
    const shown = element("output", {}, "");
    const say = () => {
        const text = binText(page, input.value / most * page.time.ns);
        shown.textContent = text;
        input.setAttribute("aria-valuetext", text);
    };
    input.addEventListener("input", say);
    say();
    return {input, say, label: element("label", {}, `${name} `, input, shown)};
}

class Chart {
    constructor(page, onPart) {
        this.page = page;
        this.onPart = onPart;
        this.view = [0, page.time.bins];
        this.rows = element("div", {class: "lanes"});
        this.axisPlace = element("div", {class: "axis-row"});
        this.readout = element("p", {class: "readout", "aria-hidden": "true"}, "In full colour: the part in the time of the first row. Faint: everything that threads do. Point to read; drag to choose a part of the time.");
        this.part = element("div", {class: "part", role: "status"});
        this.account = wholeAccount(page);
        const most = page.time.account_of === "run" ? 1 : Math.max(mostOf(this.account), 1e-9);
        if (page.time.account_ns > 0)
            this.rows.append(element("div", {class: "machine-block"}, element("div", {class: "cover", "aria-hidden": "true"}), accountRow(page, this.account, most)));
        const own = page.lanes.filter((lane) => lane.id !== "lane-others"); /* those are of all machines */
        const machines = [...new Set(own.map((lane) => lane.machine))].sort((a, b) => a - b);
        for (const machine of machines) {
            const block = element("div", {class: "machine-block"});
            const losses = addLosses(page, [machine], block);
            const head = machineHead(page, machine, losses);
            if (head)
                this.rows.append(head);
            for (const lane of own.filter((one) => one.machine === machine))
                addLane(page, lane, most, block);
            this.rows.append(block);
        }
        page.lanes.filter((lane) => !own.includes(lane)).forEach((lane) => this.addOthers(lane, most, machines));
        this.makeControls();
        this.listen();
        this.show();
    }

    /* What was lost on machines that have no lane of their own is a gap here. */
    addOthers(lane, most, shown) {
        const {page} = this;
        const machines = [...new Set(page.losses.map((loss) => loss.machine))].filter((machine) => !shown.includes(machine)).sort((a, b) => a - b);
        const block = element("div", {class: "machine-block"});
        const losses = addLosses(page, machines, block);
        for (const machine of machines) {
            const head = machineHead(page, machine, losses.filter((loss) => loss.machine === machine));
            if (head)
                this.rows.append(head);
        }
        addLane(page, lane, most, block);
        this.rows.append(block);
    }

    makeControls() {
        const {page} = this;
        this.from = slider("from", 0, page.time.bins, page);
        this.to = slider("to", page.time.bins, page.time.bins, page);
        this.zoom = element("button", {type: "button"}, "Zoom in");
        this.whole = element("button", {type: "button"}, "Whole time");
        for (const {input} of [this.from, this.to])
            input.addEventListener("change", () => this.choose(+this.from.input.value, +this.to.input.value));
        this.zoom.addEventListener("click", () => {
            this.view = this.chosen();
            this.show();
        });
        this.whole.addEventListener("click", () => {
            this.view = [0, page.time.bins];
            this.choose(0, page.time.bins);
        });
        this.controls = element("fieldset", {class: "controls"}, element("legend", {}, "Part of the time"), this.from.label,
            this.to.label, this.zoom, this.whole);
    }

    chosen() {
        const ends = [+this.from.input.value, +this.to.input.value].sort((a, b) => a - b);
        return ends[0] === ends[1] ? [Math.max(0, ends[0] - 1), Math.max(1, ends[1])] : ends;
    }

    /* Also for links from elsewhere: ns. */
    chooseTime(from, to) {
        const {bins, ns} = this.page.time;
        this.choose(Math.floor(from / ns * bins), Math.min(bins, Math.ceil(to / ns * bins)));
    }

    choose(from, to) {
        const {page} = this;
        this.from.input.value = from;
        this.to.input.value = to;
        this.from.say();
        this.to.say();
        const [begin, end] = this.chosen();
        const all = begin === 0 && end === page.time.bins;
        this.part.replaceChildren(...(all ? [] : [wide("Part of the time", partTable(page, begin, end))]));
        this.show();
        this.tell(all ? null : begin / page.time.bins * page.time.ns, end / page.time.bins * page.time.ns);
    }

    /* Keys that are held down change the part faster than everything can be drawn again. */
    tell(from, to) {
        cancelAnimationFrame(this.telling);
        this.telling = requestAnimationFrame(() => this.onPart(from, to));
    }

    /* Shows the view, and marks the chosen part in it. */
    show() {
        const {page, view: [begin, end]} = this;
        const {bins, ns} = page.time;
        const share = (time) => (time / ns * bins - begin) / (end - begin);
        for (const picture of this.rows.querySelectorAll("svg[data-bins]")) {
            const step = picture.dataset.bins / bins;
            const height = picture.getAttribute("height");
            picture.setAttribute("viewBox", `${begin * step} 0 ${(end - begin) * step} ${height}`);
        }
        for (const gap of this.rows.querySelectorAll(".gap")) {
            gap.style.left = `${share(+gap.dataset.from) * 100}%`;
            gap.style.width = `max(3px, ${(share(+gap.dataset.to) - share(+gap.dataset.from)) * 100}%)`;
        }
        for (const bound of this.rows.querySelectorAll(".bound"))
            bound.style.width = `max(1px, ${bound.dataset.length / ns * bins / (end - begin) * 100}%)`;
        this.axisPlace.replaceChildren(axis(begin / bins * ns, end / bins * ns, 8));
        this.markPart(begin, end);
    }

    markPart(begin, end) {
        const [from, to] = this.chosen();
        const all = from === 0 && to === this.page.time.bins;
        for (const cover of this.rows.querySelectorAll(".cover")) {
            cover.querySelectorAll(".outside").forEach((one) => one.remove());
            for (const [left, right] of all ? [] : [[begin, Math.min(end, from)], [Math.max(begin, to), end]]) {
                if (right <= left)
                    continue;
                const dim = element("span", {class: "outside"});
                dim.style.left = `${(left - begin) / (end - begin) * 100}%`;
                dim.style.width = `${(right - left) / (end - begin) * 100}%`;
                cover.append(dim);
            }
        }
    }

    /* ---- the pointer ---- */

    binAt(event, plot) {
        const box = plot.getBoundingClientRect();
        const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
        return Math.round(this.view[0] + share * (this.view[1] - this.view[0]));
    }

    listen() {
        let start = null;
        this.rows.addEventListener("pointerdown", (event) => {
            const plot = event.target.closest(".plot");
            if (plot && event.button === 0)
                start = {plot, bin: this.binAt(event, plot), x: event.clientX};
        });
        this.rows.addEventListener("pointermove", (event) => {
            const plot = event.target.closest(".plot");
            if (plot)
                this.read(plot.dataset.lane, this.binAt(event, plot));
            if (start && Math.abs(event.clientX - start.x) > 4) {
                const bin = this.binAt(event, start.plot);
                this.from.input.value = Math.min(start.bin, bin);
                this.to.input.value = Math.max(start.bin, bin);
                this.markPart(...this.view);
            }
        });
        window.addEventListener("pointerup", (event) => {
            if (start && Math.abs(event.clientX - start.x) > 4)
                this.choose(...this.chosen());
            start = null;
        });
    }

    read(id, bin) {
        const {page} = this;
        const lane = page.lanes.flatMap((one) => [one, ...(one.members ?? [])]).find((one) => one.id === id);
        const when = binText(page, bin / page.time.bins * page.time.ns);
        if (id === "account") {
            this.readout.textContent = `${when}  ${this.accountText(this.account, bin) || "nothing"}`;
            return;
        }
        if (!lane)
            return;
        const threads = this.parts(laneBins(lane), bin, lane.most).map(([key, value]) => `${waitName(page, key)} ${threeDigits(value)}`);
        const account = this.accountText(accountBins(lane), bin);
        this.readout.textContent = `${when}  ${lane.name}: ${threads.length > 0 ? `${threads.join(", ")} (threads)` : "no thread"}${account ? `; ${account}` : ""}`;
    }

    /* [kind, value] of a moment. */
    parts(bins, bin, most) {
        const count = Object.values(bins)[0]?.length ?? 1;
        const at = Math.min(count - 1, Math.floor(bin * count / this.page.time.bins));
        return kindOrder.filter((key) => bins[key]?.[at] > 0).map((key) => [key, bins[key][at] * most]);
    }

    /* A share of the run, or a number of requests. */
    accountText(bins, bin) {
        const ofRun = this.page.time.account_of === "run";
        const list = this.parts(bins, bin, 1).map(([key, value]) => `${kindName(this.page, key)} ${ofRun ? percent(value) : threeDigits(value)}`);
        return list.length === 0 ? "" : `${ofRun ? "the run" : "requests"}: ${list.join(", ")}`;
    }
}

/* The table that stands without a script gives its links to the chart, and goes behind it. */
function drawChart(page, root, onPart) {
    if (!page.time || page.lanes.length === 0)
        return null;
    for (const row of document.querySelectorAll("#lanes-table [id]"))
        row.removeAttribute("id");
    const chart = new Chart(page, onPart);
    root.append(legend(page), chart.rows, chart.axisPlace, chart.readout, chart.controls, chart.part);
    return chart;
}
