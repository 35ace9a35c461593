/*
 * live_page.js: the page of dpm live: takes snapshots as they come, and draws the moment that is shown: the latest, or one that is held.
 *
 *      GET /events --> Moments --> Spots, Curves, Strips, Matrix, Details
 *
 * A page that is not seen has no connection: browsers open six to a server. What it has missed comes when it is seen again.
 */
const decisionsMost = 20;
const hiddenFor = 10000; /* ms, then a page that is not seen ends its connection */
const loadKnown = 10e9; /* ns */
const narrow = 640; /* pixels, of a phone's window */
const narrowMost = 6;

/* What is wrong with its recording, or that it has ended: as dpm top says it. */
function machineWords(machine, isLast) {
    if (machine.ended)
        return machine.complete ? isLast ? "" : ", ended" : ", gone";
    return machine.silent_ns > 20e9 ? `, silent for ${duration(machine.silent_ns)}` : "";
}

/* When a moment was, since the beginning: of many minutes, too, neighbours differ. */
function momentText(ns) {
    return timeText(ns, 1e8);
}

class App {
    constructor() {
        const place = (id) => document.getElementById(id);
        this.place = place;
        this.moments = new Moments();
        this.about = {kinds: [], values: [], speed: 0};
        this.metric = metrics[0];
        this.isChange = false;
        this.group = 0;
        this.find = "";
        this.hidden = new Set(); /* names, of all groupings */
        this.seen = groupings.map(() => []); /* names in the order of their appearance */
        this.chosen = null; /* {group, from, to}: to undefined: a process or group */
        this.held = null; /* a moment */
        this.isHeldLost = false; /* it was so old that it is no longer kept */
        this.connection = ""; /* what is wrong with it */
        this.isDue = false;
        this.spots = new Spots(this, place("spots"));
        this.curves = new Curves(this, place("curves"));
        this.strips = new Strips(this, place("strips"));
        this.matrix = new Matrix(this, place("matrix"));
        this.details = new Details(this, place("details"));
        this.why = new Why(this, place("why"));
        this.listen();
        this.follow();
    }

    /* ---- what is shown ---- */

    get moment() {
        return this.held ?? this.moments.list.at(-1);
    }

    nameOf(number) {
        return this.moments.names.list[number];
    }

    finds(name) {
        return this.find !== "" && name.toLowerCase().includes(this.find);
    }

    before() {
        return this.moments.list[this.moments.list.indexOf(this.moment) - 1];
    }

    /* The chosen metric of values of this moment, without its change. */
    valueOf(fields, values) {
        return metricOf(this.metric, fields, values, this.moment.seconds);
    }

    /* The same, or its change since the moment before; earlier(moment): the same arc there. */
    arcValue(arc, earlier) {
        const value = this.valueOf(arcFields, arc.values);
        const before = this.before();
        if (!this.isChange)
            return value;
        if (!before)
            return NaN;
        return (value - metricOf(this.metric, arcFields, earlier(before)?.values, before.seconds)) / secondsSince(before, this.moment);
    }

    text(value) {
        return metricText(this.metric, value, this.isChange);
    }

    /* The value of an arc: of groups, it is a sum to which pairs are lacking that the moment has left out. */
    arcText(value) {
        const isLeast = this.group > 0 && this.moment.rest.pairs > 0 && this.metric.sums && !this.isChange && value > 0;
        return `${isLeast ? "≥ " : ""}${this.text(value)}`;
    }

    isChosen({from, to}) {
        return this.chosen !== null && this.chosen.group === this.group && this.chosen.from === from && this.chosen.to === to;
    }

    /* ---- choices ---- */

    choose({from, to}, group = this.group) {
        this.chosen = {group, from, to};
        this.draw();
    }

    hide(name) {
        this.hidden.add(name);
        this.draw();
    }

    show(name) {
        this.hidden.delete(name);
        this.draw();
    }

    /* A moment by its index; the last one is not held. */
    hold(index) {
        const {list} = this.moments;
        this.held = index >= list.length - 1 ? null : list[Math.max(0, index)];
        this.isHeldLost = false;
        this.draw();
    }

    /* The moment that is nearest to this time. */
    holdAt(time) {
        const {list} = this.moments;
        this.hold(list.reduce((best, one, i) => Math.abs(one.time - time) < Math.abs(list[best].time - time) ? i : best, 0));
    }

    step(by) {
        this.hold(this.moments.list.indexOf(this.moment) + by);
    }

    toggleHold() {
        this.held = this.held ? null : this.moments.list.at(-1) ?? null;
        this.isHeldLost = false;
        this.draw();
    }

    /* ---- the controls ---- */

    listen() {
        const {place} = this;
        place("metric").append(...metrics.map((metric) => element("option", {value: metric.key}, metric.name)));
        const on = (id, event, act) => place(id).addEventListener(event, () => {
            act(place(id));
            this.draw();
        });
        place("choices").addEventListener("submit", (event) => event.preventDefault());
        on("metric", "input", (input) => {
            this.metric = metrics.find((one) => one.key === input.value);
        });
        on("derivative", "input", (input) => {
            this.isChange = input.checked;
        });
        on("group", "input", (input) => {
            this.group = Number(input.value);
            this.spots.reset();
        });
        on("find", "input", (input) => {
            this.find = input.value.trim().toLowerCase();
        });
        on("order", "input", (input) => this.matrix.arrange(input.value));
        place("hold").addEventListener("click", () => this.toggleHold());
        place("moment").addEventListener("input", () => this.hold(Number(place("moment").value)));
        place("closer").addEventListener("click", () => this.spots.zoom(1 / 1.4));
        place("farther").addEventListener("click", () => this.spots.zoom(1.4));
        place("fit").addEventListener("click", () => this.spots.showAll());
        document.addEventListener("keydown", (event) => this.key(event));
        document.addEventListener("visibilitychange", () => this.see());
    }

    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, summary, button, [role=button]") && event.key !== "/")
            return;
        if (event.target.matches("input[type=search]"))
            return;
        const acts = {" ": () => this.toggleHold(), ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), "/": () => this.place("find").focus(),
            d: () => this.place("derivative").click()};
        if (acts[event.key]) {
            event.preventDefault();
            acts[event.key]();
        }
    }

    /* ---- what comes ---- */

    see() {
        clearTimeout(this.leaving);
        if (document.hidden)
            this.leaving = setTimeout(() => this.leave(), hiddenFor);
        else if (!this.source)
            this.follow();
        this.draw();
    }

    leave() {
        this.source?.close();
        this.source = null;
    }

    follow() {
        history.replaceState(null, "", "/"); /* the token is used up */
        const latest = this.moments.list.at(-1);
        const source = new EventSource(latest ? `/events?last=${latest.number}` : "/events");
        this.source = source;
        setTimeout(() => {
            if (source.readyState === EventSource.CONNECTING && this.moments.list.length === 0)
                this.say("No answer yet. A browser opens six connections to a server: close other pages of dpm live.");
        }, 5000);
        source.addEventListener("about", (event) => this.begin(JSON.parse(event.data)));
        source.addEventListener("message", (event) => {
            this.connection = "";
            this.strips.take(...this.moments.add(Number(event.lastEventId), event.data));
            if (this.moments.list.length === 1)
                this.groupAtFirst();
            this.draw();
        });
        source.addEventListener("error", () => {
            this.connection = source.readyState === EventSource.CLOSED ? "dpm live refuses this page: open the latest address that it has printed."
                : "The connection is lost; trying again.";
            this.say(this.connection);
        });
    }

    /* Many processes are seen by their programs: more than have boxes, or, on a phone, than are seen at once. */
    groupAtFirst() {
        if (this.moments.list[0].nodes[0].names.length > (window.innerWidth < narrow ? narrowMost : spotsMost)) {
            this.group = 1;
            this.place("group").value = "1";
        }
    }

    begin(about) {
        this.about = about;
        this.connection = ""; /* a recording that has ended sends no more */
        colourKinds(about.kinds);
        this.why.begin();
        this.place("subject").textContent = about.subject;
        document.title = `${about.subject} – dpm live`;
        this.draw();
    }

    /* ---- drawing: once, whatever comes at the same time; a page that is not seen draws nothing ---- */

    draw() {
        if (this.isDue || document.hidden || this.moments.list.length === 0)
            return;
        this.isDue = true;
        requestAnimationFrame(() => {
            this.isDue = false;
            this.drawNow();
        });
    }

    drawNow() {
        if (this.held && !this.moments.list.includes(this.held)) {
            this.held = this.moments.list[0];
            this.isHeldLost = true;
        }
        this.sayState();
        this.spots.update();
        this.curves.update();
        this.strips.update();
        this.matrix.update();
        this.details.update();
        this.why.update();
        this.sayHidden();
        this.sayDecisions();
    }

    /* Of dpm steer: the latest ones, as marks that lead to their moments. */
    sayDecisions() {
        const all = this.moments.list.flatMap((moment) => moment.decisions.map((decision) => ({moment, decision}))).slice(-decisionsMost);
        const key = all.map(({decision}) => decision.time_ns).join(" ");
        if (key === this.decisionsShown)
            return;
        this.decisionsShown = key;
        const place = this.place("decisions");
        place.hidden = all.length === 0;
        place.replaceChildren(...all.map(({moment, decision}) => {
            const mark = element("button", {type: "button", title: decision.reason}, momentText(decision.time_ns));
            mark.addEventListener("click", () => this.hold(this.moments.list.indexOf(moment)));
            return element("li", {}, mark, ` ${decision.text}`);
        }));
    }

    /* Once: screen readers read each change. */
    say(text) {
        const state = this.place("state");
        if (state.textContent !== text)
            state.textContent = text;
    }

    sayState() {
        const {place, moment, moments: {list}} = this;
        const latest = list.at(-1);
        const {whole} = moment;
        const slider = place("moment"), ago = duration(latest.time - moment.time);
        slider.max = list.length - 1;
        slider.value = list.indexOf(moment);
        place("when").textContent = this.held ? `${ago} ago` : "now";
        slider.setAttribute("aria-valuetext", place("when").textContent);
        place("hold").setAttribute("aria-pressed", String(this.held !== null));
        place("hold").textContent = this.held ? "Go on" : "Hold";
        const speed = this.about.speed > 0 ? (this.about.speed === 1 ? "Playback." : `Playback, ${this.about.speed} times as fast.`) : "Live.";
        this.say(this.connection || (this.isHeldLost ? "The moment that was held is no longer kept: this is the oldest one." : this.held ? `Held, at ${momentText(moment.time)} (${new Date(moment.wall / 1e6).toLocaleTimeString("en-GB")}).` : latest.last ? "The recording has ended: these are its last figures." : speed));
        const perSecond = (value) => moment.seconds > 0 ? value / moment.seconds : 0;
        place("figures").textContent = `${duration(moment.time)} since it began; ${shortCount(Math.round(perSecond(whole.events)))} events/s, ${countText(whole.lost)} lost. ${this.costs(whole)}.`;
        place("machines").textContent = whole.machines.map((one, i) => `${one.name}${this.machineLoad(i)}${machineWords(one, latest.last)}`).join("; ") + (this.about.not_recorded ? `. Not recorded: ${this.about.not_recorded.replace(/,/g, ", ")} (--kinds).` : "");
        place("spots-note").textContent = `From clients to servers. The more a box executes, the bluer it is; arcs go from violet to red with ${this.metric.name}${this.isChange ? ", change per second" : ""}.${this.metric.note ? ` ${this.metric.note}` : ""}`;
    }

    /* What measuring costs. With a recorder of its own, dpm live is both. Else recorders say it now and then: what was said last. */
    costs({recorder, reader}) {
        const own = percent(this.moment.seconds > 0 ? reader / 1e9 / this.moment.seconds : 0);
        if (this.about.why === "record")
            return `DPM itself: ${own} of a CPU`;
        return `Recorder: ${recorder === null ? "–" : percent(recorder)} of a CPU${this.about.speed > 0 ? "" : `, dpm live: ${own}`}`;
    }

    /* Recorders say it now and then: the latest, of up to ten seconds. */
    machineLoad(index) {
        const {list} = this.moments;
        for (let i = list.indexOf(this.moment); i >= 0 && this.moment.time - list[i].time <= loadKnown; i--) {
            const share = list[i].whole.machines[index]?.cpu_share;
            if (share !== null && share !== undefined)
                return `: CPUs ${percent(share)}`;
        }
        return "";
    }

    sayScale(most) {
        const marks = [0.04, 0.25, 1].flatMap((share) => {
            const sample = element("span", {class: "swatch", "aria-hidden": "true"});
            sample.style.background = heat(share);
            return [sample, `${this.text(share * most)} `];
        });
        morphChildren(this.place("scale"), most > 0 ? marks : []);
    }

    sayHidden() {
        const chips = [...this.hidden].map((name) => {
            const chip = element("button", {type: "button", title: "Show again", "data-key": name}, shortName(this.nameOf(name), 24));
            chip.setAttribute("aria-label", `Show ${this.nameOf(name)} again`);
            chip.addEventListener("click", () => this.show(name));
            return chip;
        });
        const key = [...this.hidden].join(" ");
        if (key === this.hiddenShown)
            return;
        this.hiddenShown = key;
        this.place("hidden").replaceChildren(...chips.length > 0 ? ["Hidden: ", ...chips] : []);
    }
}

new App();
