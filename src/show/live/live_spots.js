/*
 * live_spots.js: hot spots: who talks to whom now, from clients to servers. A box is placed when it first has something to show, and stays
 * there; its colour is how much of the time it executes. The colour of an arc is the metric that is chosen, from violet to red.
 *
 *      .--------------.            .----------.            .--------------.
 *      | redis-bench  | =========> | nginx    | ---------> | postgres     |
 *      | CPU 43%      | <--------- | CPU 12%  |            | CPU 71%      |
 *      '--------------'            '----------'            '--------------'
 */
const spotsMost = 50;
const boxWidth = 180;
const boxHeight = 38;
const tierWidth = 290;
const rowHeight = 62;
const quietMoments = 60; /* then a box gives its place to another one, if all are taken */
const labelsMost = 16; /* arcs; more would hide each other's figures */

/* 0: violet, 1: red. */
function heat(share) {
    return `hsl(${270 + 90 * Math.sqrt(Math.min(1, Math.max(0, share)))} 70% var(--arc-lightness))`;
}

const addTo = (lists, key, value) => {
    if (lists.has(key))
        lists.get(key).push(value);
    else
        lists.set(key, [value]);
};

/* Where boxes are, for one grouping: they never move. */
class Places {
    constructor() {
        this.at = new Map(); /* name -> {tier, row, busy: the number of the latest moment in which it did anything} */
        this.rows = new Map(); /* tier -> rows that are or were taken */
        this.free = new Map(); /* tier -> those that were given back */
        this.seen = 0; /* the number of the latest moment that was looked at */
    }

    place(name, tier, busy) {
        const row = this.free.get(tier)?.pop() ?? this.rows.get(tier) ?? 0;
        this.rows.set(tier, Math.max(row + 1, this.rows.get(tier) ?? 0));
        this.at.set(name, {tier, row, busy});
    }

    /* Takes up to so many places from those that have been quiet for longest. Returns their names. */
    release(count, now, isWanted) {
        const quiet = [...this.at].filter(([name, place]) => now - place.busy >= quietMoments && !isWanted(name)).sort((a, b) => a[1].busy - b[1].busy).slice(0, count);
        for (const [name, {tier, row}] of quiet) {
            this.at.delete(name);
            this.free.set(tier, [...this.free.get(tier) ?? [], row].sort((a, b) => b - a));
        }
        return quiet.map(([name]) => name);
    }

    /* Places new ones; `calls` are the connections: "client server"; `now`: the number of this moment. */
    add(names, calls, now) {
        const fresh = new Set(names);
        const servers = new Map(), clients = new Map();
        for (const call of calls) {
            const [from, to] = call.split(" ").map(Number);
            addTo(servers, from, to);
            addTo(clients, to, from);
        }
        const tierOf = (name, seen) => {
            const placed = this.at.get(name);
            if (placed)
                return placed.tier;
            if (seen.has(name) || !fresh.has(name))
                return null;
            seen.add(name);
            const before = (clients.get(name) ?? []).map((client) => tierOf(client, seen)).filter((tier) => tier !== null);
            const after = (servers.get(name) ?? []).map((server) => this.at.get(server)?.tier).filter((tier) => tier !== undefined);
            return before.length > 0 ? Math.max(...before) + 1 : after.length > 0 ? Math.min(...after) - 1 : 0;
        };
        const tiers = new Map(names.map((name) => [name, tierOf(name, new Set())]));
        const rowBy = (name) => { /* near those that call it, or that it calls: fewer arcs cross */
            const rows = [...clients.get(name) ?? [], ...servers.get(name) ?? []].map((other) => this.at.get(other)?.row).filter((row) => row !== undefined);
            return rows.length > 0 ? rows.reduce((sum, row) => sum + row, 0) / rows.length : Infinity;
        };
        for (const tier of [...new Set(tiers.values())].sort((a, b) => a - b)) {
            const own = names.filter((name) => tiers.get(name) === tier).map((name) => [name, rowBy(name)]);
            own.sort((a, b) => a[1] === b[1] ? 0 : a[1] - b[1]).forEach(([name]) => this.place(name, tier, now));
        }
    }
}

class Spots {
    constructor(app, root) {
        this.app = app;
        this.root = root;
        this.places = groupings.map(() => new Places());
        this.scale = new Map(); /* of a metric: the largest value so far, so that colours do not jump */
        this.view = null; /* [x, y, width, height] that the user has chosen */
        this.reset();
        this.listen();
    }

    reset() {
        this.boxes = new Map();
        this.arcs = new Map();
        this.lines = shape("g");
        this.labels = shape("g", {"aria-hidden": "true"});
        this.nodes = shape("g");
        this.picture = shape("svg", {class: "graph spots", role: "group", "aria-label": "Hot spots"}, this.lines, this.labels, this.nodes);
        this.root.replaceChildren(wide("Boxes and arcs", this.picture));
        this.view = null;
    }

    /* ---- what is shown ---- */

    /* Names that have done anything, the busiest first. */
    busy(nodes, arcs, seconds) {
        const traffic = new Map();
        for (const {from, to, values} of arcs.values())
            for (const end of [from, to])
                traffic.set(end, (traffic.get(end) ?? 0) + (values[0] || 0) + (values[arcFields.indexOf("requests")] || 0));
        for (const [name, values] of nodes)
            if (values[0] / 1e9 >= 0.01 * seconds)
                traffic.set(name, (traffic.get(name) ?? 0) + 1);
        return [...traffic].filter(([, amount]) => amount > 0).sort((a, b) => b[1] - a[1]).map(([name]) => name);
    }

    update() {
        const {group, moment} = this.app;
        const places = this.places[group];
        const nodes = this.app.moments.nodes(moment, group), arcs = this.app.moments.arcs(moment, group);
        this.look(places, group);
        this.drawBoxes(places, nodes);
        this.drawArcs(places, arcs);
        this.fit();
    }

    /* All moments that have come since the last look, also those before the page was opened: what was busy in one has a place. */
    look(places, group) {
        const {moments} = this.app;
        for (const moment of moments.list)
            if (moment.number > places.seen) {
                this.takePlaces(places, this.busy(moments.nodes(moment, group), moments.arcs(moment, group), moment.seconds), moment.number);
                places.seen = moment.number;
            }
    }

    takePlaces(places, busy, now) {
        const {app} = this;
        for (const name of busy)
            if (places.at.has(name))
                places.at.get(name).busy = Math.max(places.at.get(name).busy, now);
        const fresh = busy.filter((name) => !places.at.has(name)), free = spotsMost - 1 - places.at.size;
        if (fresh.length === 0)
            return;
        if (fresh.length > free && !app.held)
            for (const name of places.release(fresh.length - free, now, (one) => app.isChosen({from: one})))
                this.remove(name);
        places.add(fresh.slice(0, spotsMost - 1 - places.at.size), app.moments.clientsOf(app.group), now);
    }

    remove(name) {
        this.boxes.get(name)?.group.remove();
        this.boxes.delete(name);
        for (const [key, arc] of this.arcs)
            if (arc.from === name || arc.to === name) {
                arc.group.remove();
                arc.text.remove();
                this.arcs.delete(key);
            }
    }

    drawBoxes(places, nodes) {
        for (const name of places.at.keys())
            if (!this.boxes.has(name))
                this.boxes.set(name, this.makeBox(name, places.at.get(name)));
        const rest = new Array(nodeFields.length).fill(NaN);
        let others = 0;
        for (const [name, values] of nodes)
            if (!places.at.has(name)) {
                others++;
                addValues(nodeFields, rest, values);
            }
        const {count, values: unlisted} = this.app.moment.rest.nodes[this.app.group];
        others += count;
        addValues(nodeFields, rest, unlisted);
        if (others > 0 && !this.boxes.has("others"))
            this.boxes.set("others", this.makeBox("others", {tier: 0, row: -1.2}));
        for (const [name, box] of this.boxes)
            this.fillBox(box, name, name === "others" ? rest : nodes.get(name), others);
    }

    makeBox(name, {tier, row}) {
        const box = {x: tier * tierWidth, y: row * rowHeight, title: shape("title"), first: shape("text", {class: "name"}), second: shape("text", {class: "second"}),
            rect: shape("rect", {width: boxWidth, height: boxHeight, rx: 6})};
        box.group = shape("g", {class: "box", tabindex: "0", role: "button"}, box.title, box.rect, box.first, box.second);
        box.group.setAttribute("transform", `translate(${box.x} ${box.y})`);
        box.first.setAttribute("x", boxWidth / 2);
        box.first.setAttribute("y", 16);
        box.second.setAttribute("x", boxWidth / 2);
        box.second.setAttribute("y", 31);
        const text = name === "others" ? "others" : this.app.nameOf(name);
        box.group.dataset.name = text;
        box.first.textContent = shortName(text, 21);
        if (name !== "others") {
            box.group.classList.toggle("outside-box", this.app.moments.outside.has(name));
            box.group.addEventListener("click", () => this.app.choose({from: name}));
        }
        this.nodes.append(box.group);
        return box;
    }

    fillBox(box, name, values, others) {
        const {app} = this;
        const share = metricOf(metrics.find((one) => one.key === "cpu"), nodeFields, values, app.moment.seconds);
        const what = name === "others" ? `${countText(others)} ${others === 1 ? "other" : "others"}` : app.nameOf(name);
        const isOutside = name !== "others" && app.moments.outside.has(name);
        const hasEnded = !(share > 0) && values?.[nodeFields.indexOf("living")] === 0;
        const says = isOutside ? "unmonitored" : hasEnded ? "ended" : Number.isNaN(share) ? "–" : `CPU ${percent(share)}`;
        const shown = app.valueOf(nodeFields, values);
        const metric = app.metric.key === "cpu" || Number.isNaN(shown) ? "" : `, ${app.metric.name} ${metricText(app.metric, shown, false)}`;
        box.second.textContent = says;
        box.title.textContent = `${what}: ${says}${metric}`;
        box.rect.style.fill = Number.isNaN(share) || share === 0 ? "" : `color-mix(in srgb, var(--blue) ${(8 + 42 * Math.min(1, share)).toFixed(0)}%, var(--paper))`;
        if (name === "others")
            box.first.textContent = what;
        box.group.toggleAttribute("data-found", app.finds(what));
        box.group.style.display = app.hidden.has(name) || (name === "others" && others === 0) ? "none" : "";
        box.group.classList.toggle("chosen", app.isChosen({from: name}));
    }

    /* ---- arcs ---- */

    /* Arcs between boxes that are shown; those of others together. */
    shownArcs(places, arcs) {
        const all = new Map();
        for (const arc of arcs.values()) {
            const [from, to] = [arc.from, arc.to].map((end) => places.at.has(end) ? end : "others");
            if (from === to || !this.boxes.has(from) || !this.boxes.has(to))
                continue;
            const key = `${from} ${to}`;
            const before = all.get(key);
            if (before)
                addValues(arcFields, before.values, arc.values);
            else
                all.set(key, {from, to, values: from === arc.from && to === arc.to ? arc.values : arc.values.slice()});
        }
        return all;
    }

    drawArcs(places, arcs) {
        const {app} = this;
        const shown = this.shownArcs(places, arcs);
        const values = new Map([...shown].map(([key, arc]) => [key, app.arcValue(arc, (moment) => this.shownArcs(places, app.moments.arcs(moment, app.group)).get(key))]));
        const key = `${app.metric.key} ${app.isChange}`;
        let most = this.scale.get(key) ?? 0;
        for (const value of values.values())
            if (Math.abs(value) > most)
                most = Math.abs(value);
        this.scale.set(key, most);
        for (const [name, arc] of shown)
            if (!this.arcs.has(name))
                this.arcs.set(name, this.makeArc(arc));
        for (const [name, drawn] of this.arcs)
            this.fillArc(drawn, values.get(name) ?? NaN, most, this.arcs.size <= labelsMost);
        app.sayScale(most);
    }

    makeArc({from, to}) {
        const {path, label} = this.route(this.boxes.get(from), this.boxes.get(to));
        const arc = {from, to, title: shape("title"), line: shape("path", {d: path, class: "arc", "marker-end": "url(#head)"}), wide: shape("path", {d: path, class: "grip"}),
            text: shape("text", {class: "arc-label", x: label.x.toFixed(1), y: label.y.toFixed(1)})};
        arc.group = shape("g", {class: "arc-group", tabindex: "0", role: "button"}, arc.title, arc.wide, arc.line);
        if (from !== "others" && to !== "others")
            arc.group.addEventListener("click", () => this.app.choose({from, to}));
        this.lines.append(arc.group);
        this.labels.append(arc.text);
        return arc;
    }

    /* Arcs to the right leave a box above its middle and answers below it, so that both are seen. */
    route(from, to) {
        const ahead = to.x > from.x, same = to.x === from.x;
        const shift = ahead ? -8 : 8;
        const start = {x: ahead || same ? from.x + boxWidth : from.x, y: from.y + boxHeight / 2 + shift};
        const end = {x: ahead ? to.x : to.x + boxWidth, y: to.y + boxHeight / 2 + (same ? -shift : shift)};
        const bend = same ? 46 + Math.abs(to.y - from.y) / 8 : (ahead ? 1 : -1) * Math.max(44, Math.abs(end.x - start.x) * 0.42);
        const one = {x: start.x + bend, y: start.y}, two = {x: end.x - (same ? -bend : bend), y: end.y};
        const at = (t, a, b, c, d) => (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t ** 2 * c + t ** 3 * d;
        const t = ahead ? 0.36 : 0.64;
        return {path: `M${start.x},${start.y}C${one.x.toFixed(1)},${one.y} ${two.x.toFixed(1)},${two.y} ${end.x},${end.y}`,
            label: {x: at(t, start.x, one.x, two.x, end.x), y: at(t, start.y, one.y, two.y, end.y) + (ahead ? -5 : 14)}};
    }

    fillArc(arc, value, most, isLabelled) {
        const {app} = this;
        const share = most > 0 && !Number.isNaN(value) ? Math.abs(value) / most : 0;
        const what = [arc.from, arc.to].map((end) => end === "others" ? "others" : app.nameOf(end)).join(" to ");
        const isQuiet = Number.isNaN(value) || value === 0;
        arc.line.style.stroke = isQuiet ? "var(--line)" : heat(share);
        arc.line.style.strokeWidth = `${(isQuiet ? 1 : 1.2 + 3.8 * Math.sqrt(share)).toFixed(2)}px`;
        arc.title.textContent = `${what}: ${app.metric.name} ${app.arcText(value)}`;
        arc.group.dataset.ends = what;
        arc.text.textContent = isLabelled && !isQuiet ? app.arcText(value) : "";
        const isHidden = app.hidden.has(arc.from) || app.hidden.has(arc.to) || (isQuiet && (arc.from === "others" || arc.to === "others"));
        arc.group.style.display = arc.text.style.display = isHidden ? "none" : "";
        arc.group.classList.toggle("chosen", app.isChosen(arc));
    }

    /* ---- zoom ---- */

    extent() {
        let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
        for (const {x, y} of this.boxes.values())
            [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x + boxWidth), Math.max(bottom, y + boxHeight)];
        return left > right ? [0, 0, 600, 120] : [left - 20, top - 24, right - left + 90, bottom - top + 48];
    }

    fit() {
        const all = this.extent();
        const [x, y, width, height] = this.view ?? all;
        this.picture.setAttribute("viewBox", `${x.toFixed(1)} ${y.toFixed(1)} ${width.toFixed(1)} ${height.toFixed(1)}`);
        const scale = Math.min(1, Math.max(0.75, this.root.clientWidth / all[2])); /* as small as it can be read; the box around it scrolls */
        this.picture.setAttribute("width", Math.round(all[2] * scale));
        this.picture.setAttribute("height", Math.round(all[3] * scale));
    }

    /* By a factor, about a point of the picture. */
    zoom(factor, centre) {
        const [x, y, width, height] = this.view ?? this.extent();
        const at = centre ?? {x: x + width / 2, y: y + height / 2};
        this.view = [at.x - (at.x - x) * factor, at.y - (at.y - y) * factor, width * factor, height * factor];
        this.fit();
    }

    showAll() {
        this.view = null;
        this.fit();
    }

    pointOf(event) {
        const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.picture.getScreenCTM().inverse());
        return {x: at.x, y: at.y};
    }

    listen() {
        this.root.addEventListener("wheel", (event) => {
            if (!event.ctrlKey)
                return;
            event.preventDefault();
            this.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, this.pointOf(event));
        }, {passive: false});
        this.root.addEventListener("keydown", (event) => {
            const target = event.target.closest("[role=button]");
            if (target && (event.key === "Enter" || event.key === " ")) {
                event.preventDefault();
                event.stopPropagation();
                target.dispatchEvent(new MouseEvent("click"));
            }
        });
        let from = null;
        this.root.addEventListener("pointerdown", (event) => {
            from = this.view && event.target === this.picture ? {...this.pointOf(event), view: this.view} : null;
        });
        this.root.addEventListener("pointermove", (event) => {
            if (!from || event.buttons === 0)
                return;
            const at = this.pointOf(event);
            const [x, y, width, height] = this.view;
            this.view = [x + from.x - at.x, y + from.y - at.y, width, height];
            this.fit();
        });
    }
}
