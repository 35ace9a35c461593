/*
 * page.js: draws a page from its data. A page that is still being recorded calls draw() with data of its own.
 *
 *      <script type="application/json" id="data"> --> draw(page) --> #chart #waterfalls #map-drawing #states #flame-drawing #history-drawing
 */
function draw(page) {
    const place = (id) => document.getElementById(id);
    const views = []; /* what follows the part of the time that is chosen in the chart */

    colourKinds(page.kinds);
    const chart = place("chart") && drawChart(page, place("chart"), (from, to) => views.forEach((view) => view?.show(from, to)));
    const drawings = [["waterfalls", () => drawWaterfalls(page, place("waterfalls"), chart)], ["map-drawing", () => {
        drawMap(page, place("map-drawing"));
        drawMatrix(page, place("map-drawing"));
        linkFindings(page);
    }], ["states", () => views.push(drawStates(page, place("states")))], ["flame-drawing", () => drawFlame(page, place("flame-drawing"))],
    ["history-drawing", () => views.push(drawHistory(page, place("history-drawing")))]];
    for (const [id, make] of drawings)
        if (place(id))
            make();
    improveTables();
}

/* A link to what is folded opens it, and the target is marked. */
function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) {
        if (at.tagName === "DETAILS")
            at.open = true;
        if (at.classList.contains("members")) {
            at.hidden = false;
            at.previousElementSibling.querySelector("button")?.setAttribute("aria-expanded", "true");
        }
    }
    document.querySelectorAll(".target").forEach((one) => one.classList.remove("target"));
    target?.classList.add("target");
    target?.scrollIntoView({block: "nearest"});
}

draw(JSON.parse(document.getElementById("data").textContent));
window.addEventListener("hashchange", openTarget);
if (location.hash)
    openTarget();
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => {
    one.open = true;
}));
