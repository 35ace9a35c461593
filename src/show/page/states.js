/*
 * states.js: how requests move from process to process (Miller's state diagram).
 *
 *      requestor --100% (126)--> A nginx --> B app after A --> ...
 */
function drawStates(page, root) {
    if (!page.states)
        return;
    const {states, arcs} = page.states;
    const boxes = states.map((state) => ({lines: state.letter === "" ? ["requestor"]
        : [shortText(`${state.letter}  ${state.name}`, 30), ...(state.after ? [state.after] : [])], title: `${state.letter} ${state.name} ${state.after}`.trim(),
    class: state.letter === "" ? "outside-box" : ""}));
    const most = Math.max(...arcs.map((arc) => arc.count));
    const drawn = arcs.map((arc) => ({from: arc.from, to: arc.to, lines: [arc.of > 0 ? `${percent(arc.count / arc.of)} (${countText(arc.count)})` : countText(arc.count)],
        title: `${boxes[arc.from].title} to ${boxes[arc.to].title}: ${countText(arc.count)} messages`, colour: arc.of > 0 ? "var(--blue)" : "var(--quiet)",
        width: 1 + 3 * Math.sqrt(arc.count / most)}));
    root.append(element("p", {class: "note"}, "A box is a process that holds a request, after those that had it before; an arc is its next message. Replies are grey.",
        page.states.left_out > 0 ? ` ${page.states.left_out} rare arcs are left out.` : ""),
    wide("State diagram", drawGraph("States of requests", boxes, drawn, {})));
}
