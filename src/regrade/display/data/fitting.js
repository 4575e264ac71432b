// Makes views narrower by the width that the figure exceeds; unlike in a scaled image, the font size stays the same.
function narrow(view, by, usual) {
  const beside = view.hconcat, parts = beside || view.vconcat || view.concat;
  if (parts) return parts.forEach(part => narrow(part, beside ? by / parts.length : by, usual));
  if (view.spec) return narrow(view.spec, by / (view.columns || 1), usual);
  if (typeof view.width === "object" || view.width === "container") return;
  view.width = Math.max(140, (view.width || usual) - by);
  (view.layer || []).forEach(layer => { if (layer.width) layer.width = view.width; });
}

function broken(text, letters) {
  const lines = [""];
  for (const word of [].concat(text).join(" ").split(" ")) {
    const longer = (lines.at(-1) + " " + word).trim();
    if (lines.at(-1) && longer.length > letters) lines.push(word); else lines[lines.length - 1] = longer;
  }
  return lines;
}

function breakTitles(view, room) {
  const title = view.title;
  if (title && title.text) {
    title.text = broken(title.text, room / 8.2);
    if (title.subtitle) title.subtitle = broken(title.subtitle, room / 6.4);
  }
  (view.hconcat || view.vconcat || view.concat || []).forEach(part => breakTitles(part, room));
}

function narrowLegends(view, columns) {
  for (const channel of Object.values(view.encoding || {}))
    for (const part of [channel, channel?.condition].flat())
      if (part?.legend?.columns > columns) part.legend.columns = columns;
  for (const part of [view.hconcat, view.vconcat, view.concat, view.layer, view.spec].flat())
    if (part) narrowLegends(part, columns);
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
  for (const columns of room < 520 ? [2, 1] : [Infinity]) {
    const spec = structuredClone(figure);
    breakTitles(spec, Math.min(room, usual) - 50);
    spec.config.legend.columns = Math.min(spec.config.legend.columns, columns);
    narrowLegends(spec, columns);
    const over = await drawn(spec);
    const spare = fill ? Math.min(-over - 4, (WIDEST - 1) * usual) : 0;
    if (over <= 0 && spare < 24) break;
    narrow(spec, spare >= 24 ? -spare : over + 4, usual);
    if (await drawn(spec) <= 0) break;
  }
  return shown;
}
