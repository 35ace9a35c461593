/*
 * live_details.js: all that a snapshot has of what was chosen.
 *
 *      redis-server[7780]              IN 1.00 S   SO FAR
 *      CPU time used                      312 ms   4.03 s
 *      wait: message                      671 ms   9.92 s
 */
const leastWait = 1e6; /* ns, as in dpm top */

class Details {
    constructor(app, root) {
        this.app = app;
        this.root = root;
        root.addEventListener("click", (event) => {
            const {member} = event.target.dataset;
            if (member !== undefined)
                app.choose({from: Number(member)}, 0);
        });
    }

    update() {
        const {app} = this;
        if (!app.chosen)
            return;
        const {from, to} = app.chosen;
        const title = [from, to].filter((end) => end !== undefined).map((end) => app.nameOf(end)).join(" to ");
        const parts = [element("h3", {}, title)];
        if (app.moment.text === null)
            parts.push(element("p", {class: "note"}, "The values of this moment are no longer kept: only its curves are."));
        else
            parts.push(...this.tables(JSON.parse(app.moment.text).interval));
        morphChildren(this.root, parts);
    }

    /* Whether an end is the one that is chosen, or one of that group. */
    isEnd(key, chosen) {
        const number = this.app.moments.names.numbers.get(key);
        return number !== undefined && this.app.moments.groups[number]?.[this.app.chosen.group] === chosen;
    }

    tables(interval) {
        const {from, to, group} = this.app.chosen;
        if (to === undefined && this.app.moments.outside.has(from))
            return [element("p", {class: "note"}, "It is not monitored: only its arcs have values.")];
        const found = [];
        this.length = interval.length_ns;
        if (to === undefined) {
            for (const row of interval[groupings[group]])
                if (group === 0 ? this.isEnd(row.key, from) : this.app.moments.names.numbers.get(`${groupings[group]} ${row.key}`) === from)
                    found.push(this.table(row, "Values", true));
            if (group > 0)
                found.push(this.members(interval.processes.filter((row) => this.isEnd(row.key, from))));
        } else {
            const isIt = (row) => this.isEnd(row.from_key, from) && this.isEnd(row.to_key, to);
            const pairs = interval.pairs.filter(isIt), connections = interval.connections.filter(isIt);
            pairs.forEach((row) => found.push(this.table(row, `${row.from} to ${row.to}`, pairs.length === 1)));
            connections.forEach((row) => found.push(this.table(row, `${row.from} to ${row.to}: ${row.kind} ${row.address}`, false)));
        }
        return found.length > 0 ? found : [element("p", {class: "note"}, "There are no values of this moment: it has not begun, has ended, or is one of the others.")];
    }

    members(rows) {
        const list = element("ul", {class: "members-list"});
        for (const row of rows) {
            const button = element("button", {type: "button", class: "link", "data-member": this.app.moments.names.number(row.key, row.name)}, row.name);
            list.append(element("li", {}, button));
        }
        return element("div", {}, element("h4", {}, `${countedText(rows.length, "process")} in this snapshot`), list);
    }

    table(row, title, isOpen) {
        const body = element("tbody");
        const add = (name, value, so_far) => body.append(element("tr", {class: /[1-9–]/.test(value + so_far) ? null : "nothing"}, element("th", {scope: "row"}, name), element("td", {class: "figures"}, value), element("td", {class: "figures"}, so_far)));
        const at = (object, key) => key.split(".").reduce((inner, part) => inner?.[part], object);
        for (const {key, unit, meaning} of this.app.about.values) {
            const value = at(row, key);
            if (value === undefined)
                continue;
            const so_far = at(row.so_far, key);
            add(meaning, this.text(unit, value), so_far === undefined ? "" : this.text(unit, so_far));
        }
        for (const kind of this.app.about.kinds)
            if (row.waits_ns?.[kind.key] || row.waits_so_far_ns?.[kind.key])
                add(element("span", {}, swatch(kind.key), `wait: ${kind.wait}`), this.text("ns", row.waits_ns[kind.key] ?? 0), this.text("ns", row.waits_so_far_ns[kind.key] ?? 0));
        const head = element("tr", {}, ...["", `in ${duration(this.length)}`, "so far"].map((text) => element(text ? "th" : "td", text ? {scope: "col", class: "figures"} : {}, text)));
        const box = element("details", {}, element("summary", {}, title), this.waits(row), wide(title === "Values" ? title : `Values of ${title}`, element("table", {class: "values"}, element("thead", {}, head), body)));
        box.dataset.key = title;
        box.open = isOpen;
        return box;
    }

    waits(row) {
        const wait = row.waits_for;
        if (row.is_silent)
            return element("p", {class: "note"}, row.living > 1 ? "Its threads made no record for most of the interval: they compute, or are in waits that go on."
                : "Its thread made no record for most of the interval: it computes, or is in a wait that goes on.");
        if (!wait || wait.time_ns < leastWait)
            return null;
        const kind = this.app.about.kinds.find((one) => one.key === wait.kind);
        const still = wait.since_ns ? `; one wait has lasted ${duration(wait.since_ns)} so far` : "";
        return element("p", {class: "note"}, `What ${row.living > 1 ? "they" : "it"} waited for most: ${kind?.wait ?? wait.kind}${wait.what ? `: ${wait.what}` : ""} (${duration(wait.time_ns)})${still}.`);
    }

    text(unit, value) {
        if (value === null)
            return "–";
        const sign = value < 0 ? "−" : "";
        const size = Math.abs(value);
        return sign + (unit === "ns" ? duration(size) : unit === "bytes" ? bytesText(size) : countText(size));
    }
}
