/*
 * live_why.js: on request, why a moment was as it was: what dpm why says of the ten seconds before it, for the process that is chosen,
 * an end of the pair, or all. Of processes that are metered, nothing is stored: the next ten seconds are recorded for it.
 */
const whySpan = 10e9; /* ns */

class Why {
    constructor(app, root) {
        this.app = app;
        this.root = root;
        this.asked = null; /* {title, text, isOpen} */
        root.addEventListener("click", (event) => this.press(event.target.closest("button")));
    }

    begin() {
        this.root.closest("section").hidden = !this.app.about.why;
    }

    /* Who may be asked about: {pid, name}; no pid: all. */
    subjects() {
        const {app} = this;
        const {chosen, moment} = app;
        const ends = chosen === null || chosen.group > 0 ? [] : [chosen.from, chosen.to].filter((end) => end !== undefined);
        const rows = moment?.text ? JSON.parse(moment.text).interval.processes : [];
        const found = ends.map((end) => rows.find((row) => app.moments.names.numbers.get(row.key) === end)).filter((row) => row?.pid);
        return [...found.map((row) => ({pid: row.pid, name: row.name})), {name: "all processes"}];
    }

    update() {
        const {app} = this;
        if (!app.about.why || !app.moment)
            return;
        const isRecorded = app.about.why === "record";
        const when = isRecorded ? "the next 10 s, which are recorded for it" : `the 10 s before ${app.held ? "this moment" : "now"}`;
        const buttons = this.subjects().map(({pid, name}) => element("button", {type: "button", "data-pid": pid ?? "", "data-name": name, disabled: this.asked?.isOpen}, `Why: ${name}`));
        const parts = [element("p", {class: "note"}, `Where the time goes, in ${when}.`), element("p", {class: "controls"}, ...buttons)];
        if (this.asked)
            parts.push(element("h3", {}, this.asked.title), this.asked.isOpen ? element("p", {class: "note", role: "status"}, isRecorded ? "Recording for 10 s, then reading it ..." : "Reading the trace ...")
                : element("pre", {tabindex: "0"}, this.asked.text));
        morphChildren(this.root, parts);
    }

    async press(button) {
        if (!button || this.asked?.isOpen)
            return;
        const {time} = this.app.moment;
        const from = Math.max(0, time - whySpan);
        const of = this.app.about.why === "record" ? "" : `, from ${momentText(from)} to ${momentText(time)}`;
        this.asked = {title: `${button.dataset.name}${of}`, text: "", isOpen: true};
        this.app.draw();
        const about = button.dataset.pid === "" ? "" : `&pid=${button.dataset.pid}`;
        try {
            const answer = await fetch(`/why?from=${Math.round(from)}&to=${Math.round(time)}${about}`);
            this.asked.text = await answer.text();
        } catch {
            this.asked.text = "The connection is lost.";
        }
        this.asked.isOpen = false;
        this.app.draw();
    }
}
