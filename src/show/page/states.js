/*
 * states.js: how requests move from process to process (Miller's state diagram), in the part of the time that is chosen in the
 * chart.
 *
 *      requestor --100% (126)--> A nginx --> B app after A --> ...
 */
class StatesView {
    constructor(page, root) {
        this.page = page;
        this.place = element("div");
        root.append(this.place);
        this.show(null, 0);
    }

    /* The intervals that the part touches: [first, last + 1], or null: all of the time. */
    interval(from, to) {
        const {begin, width, arcs} = this.page.states;
        const count = arcs[0]?.moments.length ?? 0;
        if (from === null || width === 0 || count === 0)
            return null;
        const at = (time) => (time - begin) / width;
        return [Math.min(count - 1, Math.max(0, Math.floor(at(from)))), Math.min(count, Math.max(1, Math.ceil(at(to))))];
    }

    /* Arcs with their counts in these intervals. What left a state is known for all of its time only, if arcs are left out. */
    arcsOf(interval) {
        const {arcs, left_out} = this.page.states;
        if (interval === null)
            return arcs;
        const counted = arcs.map((arc) => ({...arc, count: arc.moments.slice(...interval).reduce((sum, count) => sum + count, 0)}));
        const leaves = (state) => counted.filter((arc) => arc.from === state && arc.of > 0).reduce((sum, arc) => sum + arc.count, 0);
        return counted.filter((arc) => arc.count > 0).map((arc) => ({...arc, of: arc.of === 0 ? 0 : leaves(arc.from), onlyCount: left_out > 0}));
    }

    note(interval) {
        const {begin, width, left_out} = this.page.states;
        const part = interval ? ` From ${timeText(Math.max(0, begin + interval[0] * width), width)} to ${timeText(begin + interval[1] * width, width)}.` : "";
        return element("p", {class: "note"}, "A box is a process that holds a request, after those that had it before; an arc is its next message. Replies are grey.",
            part, left_out > 0 ? ` ${countedText(left_out, "rare arc")} ${left_out === 1 ? "is" : "are"} left out.` : "");
    }

    show(from, to) {
        const {states} = this.page.states;
        const interval = this.interval(from, to);
        const arcs = this.arcsOf(interval);
        if (arcs.length === 0) {
            this.place.replaceChildren(this.note(interval), element("p", {class: "note"}, "No messages of requests in this part of the time."));
            return;
        }
        const used = states.map((_, i) => i).filter((i) => arcs.some((arc) => arc.from === i || arc.to === i));
        const boxes = used.map((i) => stateBox(states[i]));
        const most = Math.max(...arcs.map((arc) => arc.count));
        const drawn = arcs.map((arc) => ({from: used.indexOf(arc.from), to: used.indexOf(arc.to), lines: [stateArcText(arc)],
            title: `${stateBox(states[arc.from]).title} to ${stateBox(states[arc.to]).title}: ${countedText(arc.count, "message")}`,
            colour: arc.of > 0 ? "var(--blue)" : "var(--quiet)", width: 1 + 3 * Math.sqrt(arc.count / most)}));
        this.place.replaceChildren(this.note(interval), wide("State diagram", drawGraph("States of requests", boxes, drawn, {})));
    }
}

function stateArcText(arc) {
    return arc.of > 0 && !arc.onlyCount ? `${percent(arc.count / arc.of)} (${countText(arc.count)})` : countText(arc.count);
}

function stateBox(state) {
    if (state.letter === "")
        return {lines: ["requestor"], title: "requestor", class: "outside-box"};
    return {lines: [shortText(`${state.letter}  ${state.name}`, 30), ...(state.after ? [state.after] : [])],
        title: `${state.letter} ${state.name} ${state.after}`.trim(), class: ""};
}

function drawStates(page, root) {
    return page.states && page.states.arcs.length > 0 ? new StatesView(page, root) : null;
}
