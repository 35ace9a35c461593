/*
 * history.js: events and messages of the part of the time that is chosen in the chart, as far as the page has them.
 *
 *      nginx[12]      o----o SEND . . . . o RECEIVE
 *                           \            /
 *      postgres[47]          o==========o                red: on the critical path
 */
const historyRow = 26;
const historyLabel = 170;
const historyWidth = 1080;

class HistoryView {
    constructor(page, root) {
        this.page = page;
        this.place = element("div");
        const {events} = page.history;
        this.extent = [Math.min(...events.map((event) => event[0])), Math.max(...events.map((event) => event[0]))];
        root.append(this.place);
        this.show(null, 0);
    }

    at(time) {
        return timeText(time, (this.extent[1] - this.extent[0]) / 1000);
    }

    /* The events from `from` to `to`, or all there are. */
    show(from, to) {
        const [first, last] = this.extent;
        const begin = from === null ? first : Math.max(first, from);
        const end = from === null ? last : Math.min(last, to);
        const notes = [];
        if (this.page.history.left_out > 0)
            notes.push(`The page has the events from ${this.at(first)} to ${this.at(last)}; ${countedText(this.page.history.left_out, "other")} ${this.page.history.left_out === 1 ? "is" : "are"} left out.`);
        if (begin >= end) {
            this.place.replaceChildren(element("p", {class: "note"}, ...notes, " None of them is in the part of the time that is chosen. ", this.command(from, to)));
            return;
        }
        const shown = this.page.history.events.filter((event) => event[0] >= begin && event[0] <= end);
        notes.push(` ${countedText(shown.length, "event")} from ${this.at(begin)} to ${this.at(end)}. `);
        this.place.replaceChildren(element("p", {class: "note"}, ...notes, this.command(from, to)), wide("History", this.picture(begin, end)));
    }

    /* The chart begins with the first event; --from counts from the first record. */
    command(from, to) {
        const {history: {first_ns: first}, traces} = this.page;
        if (from === null || !traces)
            return "";
        const ms = (ns) => `${(Math.max(0, ns + first) / 1e6).toFixed(3)}ms`;
        return element("code", {}, `dpm graph -o part.svg --from ${ms(from)} --to ${ms(to)} ${traces}`);
    }

    picture(begin, end) {
        const {events, edges, lines} = this.page.history;
        const used = [...new Set(events.filter((event) => event[0] >= begin && event[0] <= end).map((event) => event[1]))];
        const row = new Map(used.map((line, i) => [line, i]));
        const x = (time) => historyLabel + (time - begin) / (end - begin) * (historyWidth - historyLabel - 16);
        const y = (line) => 30 + row.get(line) * historyRow;
        const inside = (index) => events[index][0] >= begin && events[index][0] <= end;
        const height = 44 + used.length * historyRow;
        const picture = shape("svg", {width: historyWidth, height, viewBox: `0 0 ${historyWidth} ${height}`, role: "img", class: "history",
            "aria-label": `${countedText(used.length, "thread")} with events and messages`});
        for (const [at] of ticks(begin, end, 8))
            picture.append(shape("line", {x1: x(at), x2: x(at), y1: 14, y2: height, class: "grid"}),
                shape("text", {x: x(at), y: 10, class: "arc-label"}, tickText(at, tickStep((end - begin) / 8))));
        for (const line of used)
            picture.append(shape("line", {x1: historyLabel, x2: historyWidth, y1: y(line), y2: y(line), class: "life"}),
                shape("text", {x: 0, y: y(line) + 4}, shortText(lines[line], 24)));
        for (const [from, to, kind, critical] of edges)
            if (inside(from) && inside(to))
                picture.append(shape("line", {x1: x(events[from][0]).toFixed(1), y1: y(events[from][1]), x2: x(events[to][0]).toFixed(1), y2: y(events[to][1]),
                    class: `edge ${critical ? "critical" : kind}`}));
        for (const [time, line, type, critical] of events)
            if (time >= begin && time <= end)
                picture.append(shape("circle", {cx: x(time).toFixed(1), cy: y(line), r: 2.6, class: critical ? "event critical" : "event"},
                    shape("title", {}, `${type} at ${this.at(time)}`)));
        return picture;
    }
}

function drawHistory(page, root) {
    return page.history && page.history.events.length > 1 ? new HistoryView(page, root) : null;
}
