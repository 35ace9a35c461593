/*
 * tables.js: tables that stand in the page get sorting, and a filter if they are long.
 *
 *      Filter [post   ]  3 of 40 rows
 *      PROCESS v | CPU | ...              a heading is a button; aria-sort says what it did
 */
const unitSizes = {ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4};

/* A number that orders cells: "1.50 ms", "2 min 05 s", "1,234", "37%"; NaN: it is a text. */
function cellNumber(text) {
    const match = /^<?(-?[\d,]*\.?\d+)\s*(\p{L}*)%?(?:\s+(\d+)\s*(min|s)\b)?/u.exec(text);
    if (!match || (match[2] && !(match[2] in unitSizes)))
        return NaN;
    const number = parseFloat(match[1].replaceAll(",", "")) * (unitSizes[match[2]] ?? 1);
    return match[3] ? number + parseFloat(match[3]) * unitSizes[match[4]] : number;
}

function compareCells(a, b) {
    const [x, y] = [cellNumber(a), cellNumber(b)];
    if (Number.isNaN(x) !== Number.isNaN(y))
        return Number.isNaN(x) ? 1 : -1;
    return Number.isNaN(x) ? a.localeCompare(b) : y - x;
}

function sortBy(table, column, heading) {
    const body = table.tBodies[0];
    const turn = heading.getAttribute("aria-sort") === "descending" ? -1 : 1;
    const text = (row) => row.cells[column].textContent.trim();
    for (const other of table.tHead.rows[0].cells)
        other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", turn > 0 ? "descending" : "ascending");
    body.append(...[...body.rows].sort((a, b) => turn * compareCells(text(a), text(b))));
}

function addSorting(table) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
        const button = element("button", {type: "button", class: "sort"}, heading.textContent);
        button.addEventListener("click", () => sortBy(table, column, heading));
        heading.replaceChildren(button);
    });
}

function addFilter(table, box) {
    const rows = [...table.tBodies[0].rows];
    const input = element("input", {type: "search"});
    const says = element("output", {}, "");
    input.addEventListener("input", () => {
        const words = input.value.trim().toLowerCase();
        for (const row of rows)
            row.hidden = words !== "" && !row.textContent.toLowerCase().includes(words);
        says.textContent = words === "" ? "" : `${rows.filter((row) => !row.hidden).length} of ${countedText(rows.length, "row")}`;
    });
    box.before(element("p", {class: "controls"}, element("label", {}, `Filter ${table.caption.textContent.toLowerCase()} `, input), says));
}

/* Whether a table has more columns than fit: then its edge says so. */
function watchWidth(box) {
    const say = () => box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 4);
    box.addEventListener("scroll", say, {passive: true});
    new ResizeObserver(say).observe(box);
}

/* Shares as bars before their figures, in the colour of their kind. */
function addBars() {
    for (const cell of document.querySelectorAll("#time td.share")) {
        const kind = cell.parentElement.querySelector(".swatch")?.dataset.kind;
        const share = 0.6 * (parseFloat(cell.textContent) || 0);
        cell.style.background = `linear-gradient(to right, ${kindColour(kind)} ${share}%, transparent 0) 0 55% / 100% .75em no-repeat`;
    }
}

function improveTables() {
    addBars();
    for (const table of document.querySelectorAll("table.sortable")) {
        const box = table.closest(".wide");
        addSorting(table);
        if (table.tBodies[0].rows.length > 8)
            addFilter(table, box);
    }
    document.querySelectorAll(".wide").forEach(watchWidth);
}
