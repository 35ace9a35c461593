/*
 * live_curves.js: what was chosen, over the last ten minutes; below it a slider that takes all of the page back to a moment.
 *
 *      12K/s |      .--.__.---            redis-benchmark to redis-server, messages per second
 *            |_____/                      nginx, CPU time
 *            +--------|------- now
 */
const curvesMost = 8;
const curveWidth = 1000;
const curveHeight = 180;
const curveSpan = 600; /* s */
const curveColours = 8;

class Curves {
    constructor(app, root) {
        this.app = app;
        this.known = new Map(); /* values of what was drawn before, by the nodes of moments: the last moment may get others */
        this.kept = []; /* {group, from, to, metric, isChange} */
        this.notes = element("ul", {class: "curve-names"});
        this.area = element("div");
        root.append(this.notes, this.area);
        this.notes.addEventListener("click", (event) => this.press(event.target.closest("button")));
        this.area.addEventListener("click", (event) => this.point(event));
    }

    /* What is drawn: what was kept, and what is chosen now. */
    list() {
        const {app} = this;
        const now = app.chosen ? {...app.chosen, metric: app.metric, isChange: app.isChange, isNow: true}
            : {group: app.group, metric: app.metric, isChange: app.isChange, isNow: true};
        return [...this.kept, now];
    }

    same(a, b) {
        return a.group === b.group && a.from === b.from && a.to === b.to && a.metric === b.metric && a.isChange === b.isChange;
    }

    keep() {
        const now = this.list().at(-1);
        if (this.kept.length < curvesMost - 1 && !this.kept.some((one) => this.same(one, now)))
            this.kept.push({...now, isNow: false});
        this.app.draw();
    }

    name(curve) {
        const {app} = this;
        const what = curve.from === undefined ? curve.metric.sums ? "All" : "Choose an arc, a cell or a box" : [curve.from, curve.to].filter((end) => end !== undefined).map((end) => app.nameOf(end)).join(" to ");
        return `${what}: ${curve.metric.name}${curve.isChange ? ", change per second" : ""}`;
    }

    /* The values of a curve, one for each moment. */
    values(curve) {
        const {list} = this.app.moments;
        const key = [curve.group, curve.from, curve.to, curve.metric.key].join(" ");
        const known = this.known.get(key) ?? new WeakMap();
        if (this.known.size > 100)
            this.known.clear();
        this.known.set(key, known);
        const values = list.map((moment) => {
            if (!known.has(moment.nodes))
                known.set(moment.nodes, curve.from === undefined ? this.sumAt(curve.metric, moment) : this.valueAt(curve, moment));
            return known.get(moment.nodes);
        });
        return curve.isChange ? values.map((value, i) => i === 0 ? NaN : (value - values[i - 1]) / secondsSince(list[i - 1], list[i])) : values;
    }

    valueAt({group, from, to, metric}, moment) {
        const {moments} = this.app;
        return to === undefined ? metricOf(metric, nodeFields, moments.nodes(moment, group).get(from), moment.seconds)
            : metricOf(metric, arcFields, moments.arcs(moment, group).get(`${from} ${to}`)?.values, moment.seconds);
    }

    /* All pairs; for CPU time, which no pair has, all processes. */
    sumAt(metric, moment) {
        if (!metric.sums)
            return NaN;
        const {moments} = this.app;
        const fields = metric.key === "cpu" ? nodeFields : arcFields;
        const rows = metric.key === "cpu" ? [...moments.nodes(moment, 0).values(), moment.rest.nodes[0].values]
            : [...[...moments.arcs(moment, 0).values()].map((arc) => arc.values), moment.rest.arcs];
        const sum = new Array(fields.length).fill(NaN);
        rows.forEach((values) => addValues(fields, sum, values));
        return metricOf(metric, fields, sum, moment.seconds);
    }

    update() {
        const {app} = this;
        const curves = this.list().map((curve) => ({...curve, values: this.values(curve)}));
        const at = app.moments.list.indexOf(app.moment);
        morphChildren(this.notes, curves.map((curve, i) => this.note(curve, i, curve.values[at])));
        const units = [...new Set(curves.map((curve) => `${curve.metric.unit} ${curve.isChange}`))];
        morphChildren(this.area, [this.picture(curves, units, at)]);
    }

    press(button) {
        if (!button)
            return;
        if (button.dataset.index === "")
            this.keep();
        else {
            this.kept.splice(Number(button.dataset.index), 1);
            this.app.draw();
        }
    }

    point(event) {
        const box = event.target.closest(".curve-box");
        if (!box)
            return;
        const {list} = this.app.moments;
        const {left, width} = box.getBoundingClientRect();
        const end = list.at(-1).time, begin = Math.max(list[0].time, end - curveSpan * 1e9);
        this.app.holdAt(begin + (event.clientX - left) / width * (end - begin));
    }

    note(curve, index, value) {
        const sample = element("span", {class: `curve-sample curve-${index % curveColours}`, "aria-hidden": "true"});
        const button = element("button", {type: "button", "data-index": curve.isNow ? "" : String(index)}, curve.isNow ? "Keep" : "Remove");
        button.setAttribute("aria-label", `${button.textContent} ${this.name(curve)}`);
        return element("li", {}, sample, `${this.name(curve)} `, element("strong", {}, metricText(curve.metric, value ?? NaN, curve.isChange)), " ", button);
    }

    /* The scale of a unit: from 0, or the least change, to a round figure. */
    range(curves) {
        const all = curves.flatMap((curve) => curve.values).filter(Number.isFinite);
        const most = Math.max(0, ...all), least = Math.min(0, ...all);
        return most === least ? [0, 1] : [least, most];
    }

    picture(curves, units, at) {
        const {list} = this.app.moments;
        const end = list.at(-1).time, begin = Math.max(list[0].time, end - curveSpan * 1e9);
        const x = (time) => end === begin ? curveWidth : (time - begin) / (end - begin) * curveWidth;
        const picture = shape("svg", {viewBox: `0 0 ${curveWidth} ${curveHeight}`, preserveAspectRatio: "none", class: "curves", role: "img",
            "aria-label": `${countedText(curves.length, "curve")}, the last ${duration(end - begin)}`});
        const figures = element("div", {class: "curve-figures", "aria-hidden": "true"});
        units.forEach((unit, row) => {
            const own = curves.map((curve, i) => ({...curve, index: i})).filter((curve) => `${curve.metric.unit} ${curve.isChange}` === unit);
            const [least, most] = this.range(own);
            const y = (value) => curveHeight - 4 - (value - least) / (most - least) * (curveHeight - 10);
            for (const curve of own)
                picture.append(shape("path", {d: this.line(curve.values, list, x, y), class: `curve curve-${curve.index % curveColours}`, "data-name": this.name(curve)}));
            if (least < 0)
                picture.append(shape("line", {x1: 0, x2: curveWidth, y1: y(0), y2: y(0), class: "grid"}));
            if (own.some((curve) => curve.values.some(Number.isFinite)))
                figures.append(element("span", {}, `${least < 0 ? `${metricText(own[0].metric, least, own[0].isChange)} to ` : ""}${metricText(own[0].metric, most, own[0].isChange)}${row < units.length - 1 ? "; " : ""}`));
        });
        for (const {time, name} of this.app.strips.marks())
            if (time >= begin && time <= end)
                picture.append(shape("line", {x1: x(time).toFixed(1), x2: x(time).toFixed(1), y1: 0, y2: 10, class: "strip-mark"}, shape("title", {}, `${name} has notified`)));
        if (at >= 0)
            picture.append(shape("line", {x1: x(list[at].time), x2: x(list[at].time), y1: 0, y2: curveHeight, class: "cursor"}));
        const box = element("div", {class: "curve-box"}, picture, figures);
        return element("div", {}, box, axis(begin, end, 6));
    }

    /* Breaks where a value is not known. */
    line(values, list, x, y) {
        let path = "", isOpen = false;
        values.forEach((value, i) => {
            if (!Number.isFinite(value)) {
                isOpen = false;
                return;
            }
            path += `${isOpen ? "L" : "M"}${x(list[i].time).toFixed(1)},${y(value).toFixed(1)}`;
            if (!isOpen && !Number.isFinite(values[i + 1]))
                path += "h.01"; /* a point is seen, too */
            isOpen = true;
        });
        return path;
    }
}
