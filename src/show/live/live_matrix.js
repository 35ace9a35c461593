/*
 * live_matrix.js: what each sends to each: rows are senders, columns receivers. Its order is changed by the user alone.
 *
 *      FROM \ TO          nginx   postgres
 *      nginx        x               240/s       x hides the row and the column
 *      postgres     x     240/s
 */
const matrixMost = 60;

class Matrix {
    constructor(app, root) {
        this.app = app;
        this.root = root;
        this.order = "seen";
        this.orders = groupings.map(() => []); /* names, as they stand */
        this.shape = "";
        this.cells = new Map();
        root.addEventListener("keydown", (event) => this.move(event));
        root.addEventListener("focusin", (event) => this.rove(event.target));
    }

    arrange(by) {
        const {app} = this;
        this.order = by;
        const list = this.orders[app.group];
        if (by === "name")
            list.sort((a, b) => app.nameOf(a).localeCompare(app.nameOf(b)));
        if (by === "value") {
            const sums = new Map();
            for (const arc of app.moments.arcs(app.moment, app.group).values()) {
                const value = app.valueOf(arcFields, arc.values);
                for (const end of [arc.from, arc.to])
                    sums.set(end, (sums.get(end) ?? 0) + (Number.isNaN(value) ? 0 : Math.abs(value)));
            }
            list.sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0));
        }
        if (by === "seen")
            list.sort((a, b) => app.seen[app.group].indexOf(a) - app.seen[app.group].indexOf(b));
    }

    /* New ones come last, whatever the order. */
    remember(arcs) {
        const list = this.orders[this.app.group], seen = this.app.seen[this.app.group];
        const known = new Set(list);
        for (const {from, to} of arcs.values())
            for (const end of [from, to])
                if (!known.has(end)) {
                    known.add(end);
                    list.push(end);
                    seen.push(end);
                }
        return list;
    }

    /* Those that are not hidden; of a text that is looked for, those that have it and their partners. */
    wanted(list, arcs) {
        const {app} = this;
        const visible = list.filter((name) => !app.hidden.has(name));
        if (app.find === "")
            return visible;
        const found = new Set();
        for (const {from, to} of arcs.values())
            if (app.finds(app.nameOf(from)) || app.finds(app.nameOf(to)))
                [from, to].forEach((end) => found.add(end));
        return visible.filter((name) => found.has(name));
    }

    update() {
        const {app} = this;
        const arcs = app.moments.arcs(app.moment, app.group);
        const list = this.remember(arcs), wanted = this.wanted(list, arcs);
        const names = wanted.slice(0, matrixMost);
        const shapeNow = names.join(" ");
        if (shapeNow !== this.shape)
            this.build(names);
        this.shape = shapeNow;
        const values = new Map();
        let most = 0;
        for (const [key, arc] of arcs) {
            const value = app.arcValue(arc, (moment) => app.moments.arcs(moment, app.group).get(key));
            values.set(key, value);
            most = Math.max(most, Number.isNaN(value) ? 0 : Math.abs(value));
        }
        for (const [key, cell] of this.cells)
            this.fill(cell, arcs.has(key) ? values.get(key) : null, most);
        this.say(names.length, wanted.length, list.length);
    }

    say(shown, all, seen) {
        const {pairs} = this.app.moment.rest;
        const nothing = seen === 0 ? "No messages yet." : this.app.find === "" ? "All rows are hidden." : "Nothing has this text, or it is hidden.";
        const notes = [shown === 0 ? nothing : "Rows send, columns receive; a stronger colour is more."];
        if (all > shown)
            notes.push(`${countText(all - shown)} of ${countText(all)} ${all - shown === 1 ? "is" : "are"} not shown: group them, or find one.`);
        if (pairs > 0)
            notes.push(`${countedText(pairs, "pair")} with fewer messages ${pairs === 1 ? "is" : "are"} left out of this moment${this.app.group > 0 ? ", also of the sums (≥)" : ""}.`);
        document.getElementById("matrix-note").textContent = notes.join(" ");
    }

    build(names) {
        const {app} = this;
        const focused = document.activeElement?.dataset?.key;
        this.cells.clear();
        if (names.length === 0) {
            this.root.replaceChildren();
            return;
        }
        const head = element("tr", {}, element("th", {scope: "col"}, "from \\ to"),
            ...names.map((to) => element("th", {scope: "col", class: "column", title: app.nameOf(to)}, element("span", {}, shortName(app.nameOf(to), 24)))));
        const body = element("tbody");
        for (const from of names) {
            const hide = element("button", {type: "button", class: "hide", "aria-label": `Hide ${app.nameOf(from)}`, title: "Hide"}, "×");
            hide.addEventListener("click", () => app.hide(from));
            const row = element("tr", {}, element("th", {scope: "row", title: app.nameOf(from)}, shortName(app.nameOf(from), 30), " ", hide));
            for (const to of names) {
                const cell = element("td", {class: "figures", tabindex: "-1", "data-key": `${from} ${to}`});
                cell.dataset.ends = `${app.nameOf(from)} to ${app.nameOf(to)}`;
                cell.addEventListener("click", () => cell.textContent !== "" && app.choose({from, to}));
                this.cells.set(`${from} ${to}`, cell);
                row.append(cell);
            }
            body.append(row);
        }
        const table = element("table", {class: "matrix", role: "grid", "aria-label": "Matrix: from rows to columns"}, element("thead", {}, head), body);
        const box = wide("Rows and columns", table);
        box.removeAttribute("tabindex"); /* its cells are reached instead */
        this.root.replaceChildren(box);
        const first = this.cells.get(focused) ?? this.cells.values().next().value;
        first.tabIndex = 0;
        if (focused && this.cells.has(focused))
            first.focus();
    }

    fill(cell, value, most) {
        const {app} = this;
        const text = value === null ? "" : app.arcText(value);
        if (cell.textContent !== text)
            cell.textContent = text;
        const [from, to] = cell.dataset.key.split(" ").map(Number);
        const share = most > 0 && value !== null && !Number.isNaN(value) ? Math.abs(value) / most : 0;
        cell.style.background = share > 0 ? `color-mix(in srgb, var(--blue) ${(8 + 40 * Math.sqrt(share)).toFixed(0)}%, var(--paper))` : "";
        cell.classList.toggle("nothing", share === 0);
        cell.classList.toggle("chosen", app.isChosen({from, to}));
        if (text !== "")
            cell.title = `${cell.dataset.ends}: ${app.metric.name} ${text}`;
    }

    /* ---- keyboard: one cell is in the order of Tab; arrows go on from there ---- */

    rove(cell) {
        if (!cell.dataset.key)
            return;
        this.root.querySelectorAll("td[tabindex='0']").forEach((one) => {
            one.tabIndex = -1;
        });
        cell.tabIndex = 0;
    }

    move(event) {
        const cell = event.target;
        if (!cell.dataset.key)
            return;
        const row = cell.parentElement, column = cell.cellIndex;
        const to = {ArrowLeft: column > 1 ? cell.previousElementSibling : null, ArrowRight: cell.nextElementSibling,
            ArrowUp: row.previousElementSibling?.cells[column], ArrowDown: row.nextElementSibling?.cells[column]}[event.key];
        if (to)
            to.focus();
        else if (event.key === "Enter" || event.key === " ")
            cell.click();
        else if (!event.key.startsWith("Arrow"))
            return;
        event.preventDefault();
        event.stopPropagation();
    }
}
