const LEAST = 90;  // pixels: the narrowest view

const partsOf = view => [view.hconcat, view.vconcat, view.concat, view.layer, view.spec].flat().filter(Boolean);

// Makes views narrower by the width that the figure exceeds; unlike in a scaled image, the font size stays the same.
function narrow(view, by, usual) {
  const beside = view.hconcat, parts = beside || view.vconcat || view.concat;
  if (parts) return parts.forEach(part => narrow(part, by / (beside ? parts.length : view.columns || 1), usual));
  if (view.spec) return narrow(view.spec, by / (view.columns || 1), usual);
  if (typeof view.width === "object" || view.width === "container") return;
  view.width = Math.max(LEAST, (view.width || usual) - by);
  (view.layer || []).forEach(layer => { if (layer.width) layer.width = view.width; });
  for (const layer of [view, ...(view.layer || [])]) {
    const {x, y} = layer.encoding || {};
    if (x?.axis?.title) x.axis.title = broken(x.axis.title, (view.width + 40) / 6.4);
    if (y?.axis?.title) {  // it is above the axis
      y.axis.title = broken(y.axis.title, (view.width + 40) / 6.4);
      y.axis.titleY = -10 - 13 * (y.axis.title.length - 1);
    }
  }
}

// Puts panels below each other, in at most so many columns, unless they share the names at the left of the first.
function stack(view, columns) {
  const nameless = part => [part, ...partsOf(part)].some(layer => layer.encoding?.y?.axis === null);
  if (view.hconcat && !view.hconcat.some(nameless)) { view.vconcat = view.hconcat; delete view.hconcat; }
  if (view.columns > columns) view.columns = columns;
  partsOf(view).forEach(part => stack(part, columns));
}

function broken(text, letters) {
  const lines = [""];
  for (const word of [].concat(text).join(" ").split(" ")) {
    const longer = (lines.at(-1) + " " + word).trim();
    if (lines.at(-1) && longer.length > letters) lines.push(word); else lines[lines.length - 1] = longer;
  }
  return lines;
}

// Breaks titles into lines; in a narrow figure, those of panels start at its left edge rather than at that of their plot.
function breakTitles(view, room, small) {
  const title = view.title;
  if (title && title.text) {
    title.text = broken(title.text, room / 8.2);
    if (title.subtitle) title.subtitle = broken(title.subtitle, room / 6.4);
    if (small) title.frame = "bounds";
  }
  (view.hconcat || view.vconcat || view.concat || []).forEach(part => breakTitles(part, room, small));
}

// Limits the columns of legends and the letters of names, which are shortened in the middle so that they stay different.
function limit(view, columns, letters) {
  for (const channel of Object.values(view.encoding || {}))
    for (const part of [channel, channel?.condition].flat()) {
      if (part?.legend?.columns > columns) part.legend.columns = columns;
      for (const guide of [part?.legend, part?.axis]) {
        if (!guide || letters === Infinity || !(guide.labelExpr || part.type === "nominal")) continue;
        const name = guide.labelExpr ? `(${guide.labelExpr})` : "datum.label", half = Math.floor(letters / 2);
        guide.labelExpr = `length(${name}) > ${letters} ? slice(${name}, 0, ${half}) + "…" + slice(${name}, ${-half}) : ${name}`;
      }
    }
  partsOf(view).forEach(part => limit(part, columns, letters));
}

const MANY = 25;  // texts of a mark that are the numbers of a table

// Hides names and numbers that touch an earlier one, and all numbers of a table if some of them touch.
function hideTouching(target) {
  const shown = [], touch = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  for (const group of target.querySelectorAll(".mark-text.role-mark")) {
    const labels = [...group.children].map(text => ({text, box: text.getBoundingClientRect(), name: text.textContent}));
    const hidden = labels.filter(({box, name}) => {
      const free = !shown.some(label => touch(label.box, box) && label.name !== name);
      if (free) shown.push({box, name});
      return !free;
    });
    for (const {text} of hidden.length && labels.length >= MANY ? labels : hidden) text.style.display = "none";
  }
}

const WIDEST = 1.45;  // a wider figure has as much room for its text as it needs

// Draws a figure into a target that is `room` pixels wide, and returns the view, to be finalized later. If there is too
// little room, views become narrower and legends longer; if it should `fill` the room, they become wider.
async function drawFitted(target, figure, room, more = {}, fill = false) {
  const usual = figure.config.view.continuousWidth, options = {actions: false, renderer: "svg", ...more};
  let shown;
  const drawn = async spec => {
    if (shown) shown.finalize();
    shown = await vegaEmbed(target, structuredClone(spec), options);
    return target.querySelector("svg").width.baseVal.value - room;
  };
  const small = room < 520;
  for (const [columns, letters] of small ? [[2, Infinity], [1, Infinity], [1, Math.floor(room / 16)]] : [[Infinity, Infinity]]) {
    const spec = structuredClone(figure);
    breakTitles(spec, Math.min(room, usual) - (small ? 110 : 50), small);
    spec.config.legend.columns = Math.min(spec.config.legend.columns, columns);
    limit(spec, columns, letters);
    if (small) stack(spec, columns);
    let over = await drawn(spec);
    const spare = fill ? Math.min(-over - 4, (WIDEST - 1) * usual) : 0;
    if (spare >= 24) {
      narrow(spec, -spare, usual);
      over = await drawn(spec);
    }
    for (let before = Infinity; over > 0 && over < before; before = over, over = await drawn(spec)) narrow(spec, over + 4, usual);
    if (over <= 0) break;
  }
  return shown;
}
