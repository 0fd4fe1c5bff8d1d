// ---- what is said of a task ---------------------------------------------------------------------
const said = document.getElementById('said'), tip = document.getElementById('tip'), field = document.getElementById('find');
function reasonText(panel, reason) {
  const name = reason.why === NOTHING ? '' : nameOf(panel, reason.lane, reason.mb);
  const at = ' until ' + inUnit(panel, reason.at);
  switch (reason.why) {
    case ENGINE: return `waited for its engine, which ran ${name}` + at;
    case HANDOVER: return `waited for its engine, which handed over the message of ${name}` + at;
    case NEED: return `waited for ${name}` + at;
    case MESSAGE: return `waited for the message of ${name}` + at;
    case ROOM: return `waited for room in ${panel.resources[panel.pools[reason.pool][0]].name}, which ${name} gave back` + at;
    case TURN: return `waited for the start of ${name}` + at;
    default: return 'waited for nothing';
  }
}
function textOf({ panel, row, i }) {
  const t = time => inUnit(panel, time), names = besides(row, i).map(k => nameOf(panel, row.other.lane[k], row.other.mb[k]));
  return `${nameOf(panel, row.lane[i], row.mb[i])}  ${t(row.start[i])} - ${t(row.end[i])} (${t(row.end[i] - row.start[i])} ${panel.unit.name})` +
    (panel.steps.length > 1 ? `, step ${panel.firstStep + row.step[i]}` : '') +
    (names.length ? '\nbeside ' + names.slice(0, 4).join(' ') + (names.length > 4 ? ` and ${names.length - 4} more` : '') : '') +
    '\n' + reasonText(panel, reasonOf(panel, row, i));
}
function textOfIdle({ panel, row, i, since, cause }) {
  return `idle ${inUnit(panel, since)} - ${inUnit(panel, row.start[i])}${cause ? ': ' + cause.name : ''}\n` +
    `before ${nameOf(panel, row.lane[i], row.mb[i])}, which ${reasonText(panel, reasonOf(panel, row, i))}`;
}
// The task below the mouse, or the one before which an engine is idle there.
function under(event) {
  const y = event.offsetY + view.top;
  const item = plan.items.find(one => one.y <= y && y < one.y + one.h);
  if (!item || item.kind !== 'row' || event.offsetX < LEFT) return null;
  const { panel, rows } = item, head = headY(panel);
  if (head <= event.offsetY && event.offsetY < head + panel.head) return null;
  const time = view.from + (event.offsetX - LEFT) / view.scale;
  const ends = rows.map(row => ({ panel, row, i: firstAfter(row, time) })).filter(one => one.i < one.row.count);
  if (!ends.length || time < 0) return null;
  const run = ends.filter(one => one.row.start[one.i] <= time);
  if (run.length) return run.length > 1 && y >= run[1].row.y ? run[1] : run[0];
  const next = ends.reduce((a, b) => b.row.start[b.i] < a.row.start[a.i] ? b : a);
  const since = Math.max(...rows.map(row => { const i = firstAfter(row, time); return i > 0 ? row.end[i - 1] : 0; }));
  const idle = rows[0].idle.find(one => one.start <= time && time < one.end);
  return { ...next, idle: true, since, cause: idle && idle.cause };
}

// ---- choosing and finding -----------------------------------------------------------------------
const HELP = 'drag, arrows: move · Ctrl and wheel, + and −: zoom · 0: everything · / and a name: find a task · hover: when it ran and what it waited for · ' +
  'click, n, p: choose a task and see the chain of what it waited for · w: go to that · Escape: none · c: compact';
function say(text, error = false) { said.textContent = text; said.className = error ? 'error' : ''; resized(); }
function choose(task) {
  chosen = task && { panel: task.panel, row: task.row, i: task.i, chain: chainOf(task) };
  say(chosen ? textOf(chosen).replace(/\n/g, ' · ') : HELP);
  if (chosen || location.hash) location.replace('#' + (chosen ? addressOf(data, chosen) : ''));
  redraw();
}
// Into view, and wide enough to be seen.
function goTo(task) {
  const { panel, row, i } = task, length = row.end[i] - row.start[i], room = wide() - LEFT;
  const narrow = length > 0 && length * view.scale < 14;
  if (narrow) { view.scale = Math.min(MOST_SCALE, 28 / length); view.fits = false; }
  if (narrow || x(row.start[i]) < LEFT || x(row.end[i]) > wide() - 20) view.from = (row.start[i] + row.end[i]) / 2 - room / 2 / view.scale;
  if (row.y - view.top < panel.head + 26 || row.y + row.h - view.top > high() - 10) view.top = row.y - high() / 2;
  move(0, 0);
  choose(task);
}
const panelInView = () => Math.max(0, data.panels.findIndex(panel => panel.bottom - view.top > panel.head));
function goToNamed(text, usual) {
  const found = findTask(data, text, usual);
  if (found.error) { chosen = null; say(found.error, true); redraw(); } else goTo(found);
}
function fromAddress() {
  let text = location.hash.slice(1);
  try { text = decodeURIComponent(text); } catch (e) { /* as it stands */ }
  if (text && !(chosen && text === addressOf(data, chosen))) { field.value = text; goToNamed(text, 0); }
}
function neighbour(by) {
  if (!chosen) {  // the first in view
    const item = plan.items.find(one => one.kind === 'row' && one.y >= view.top + one.panel.head && one.rows[0].count);
    const row = item && item.rows[0];
    return row && { panel: item.panel, row, i: Math.min(row.count - 1, firstAfter(row, view.from)) };
  }
  const i = chosen.i + by;
  return i >= 0 && i < chosen.row.count ? { ...chosen, i } : null;
}
const waitedFor = () => chosen && chosen.chain[1] && { panel: chosen.panel, ...chosen.chain[1] };

// ---- moving -------------------------------------------------------------------------------------
const MOST_SCALE = 1e3;
function fitTime() { view.from = 0; view.scale = (wide() - LEFT - stuckRoom) / longest; view.fits = true; }
function fit() { fitTime(); view.top = 0; redraw(); }
function fitRange([from, to]) { view.from = from; view.scale = Math.min(MOST_SCALE, (wide() - LEFT) / (to - from)); view.fits = false; redraw(); }
function zoom(factor, at = (wide() + LEFT) / 2) {
  const time = view.from + (at - LEFT) / view.scale, least = (wide() - LEFT - stuckRoom) / longest / 2;
  view.scale = Math.min(MOST_SCALE, Math.max(least, view.scale * factor));
  view.from = time - (at - LEFT) / view.scale;
  view.fits = false;
  redraw();
}
function move(dx, dy) {
  view.from = Math.max(-longest / 2, Math.min(longest, view.from - dx / view.scale));
  view.top = Math.max(0, Math.min(Math.max(0, plan.bottom - high()), view.top - dy));
  redraw();
}
function setCompact(compact) {
  view.compact = compact;
  document.getElementById('compact').setAttribute('aria-pressed', compact);
  plan = layOut(data, compact, high());
  showLegend();
  move(0, 0);
}
let drag = null;
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  if (event.ctrlKey || event.metaKey || (plan.bottom <= high() && !event.shiftKey)) zoom(Math.exp(-event.deltaY / 400), event.offsetX);
  else move(-event.deltaX - (event.shiftKey ? event.deltaY : 0), event.shiftKey ? 0 : -event.deltaY);
}, { passive: false });
canvas.addEventListener('mousedown', event => { drag = { x: event.clientX, y: event.clientY, moved: false }; });
window.addEventListener('mouseup', event => {
  if (drag && !drag.moved && event.target === canvas) {
    const found = under(event);
    choose(found && !found.idle ? found : null);
  }
  drag = null;
});
window.addEventListener('mousemove', event => {
  if (drag) {
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (drag.moved || Math.abs(dx) + Math.abs(dy) > 3) { move(dx, dy); drag = { x: event.clientX, y: event.clientY, moved: true }; }
  }
  const found = event.target === canvas && !drag ? under(event) : null;
  tip.style.display = found ? 'block' : 'none';
  if (!found) return;
  tip.textContent = found.idle ? textOfIdle(found) : textOf(found);
  tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 6) + 'px';
  tip.style.top = Math.min(event.clientY + 16, window.innerHeight - tip.offsetHeight - 6) + 'px';
});
const go = task => { if (task) goTo(task); };
const KEYS = { '+': () => zoom(1.5), '=': () => zoom(1.5), '-': () => zoom(1 / 1.5), '0': fit, ArrowLeft: () => move(80, 0), ArrowRight: () => move(-80, 0),
               ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60), PageUp: () => move(0, high() * 0.8), PageDown: () => move(0, -high() * 0.8),
               Home: () => move(0, plan.bottom), End: () => move(0, -plan.bottom), n: () => go(neighbour(1)), p: () => go(neighbour(-1)), w: () => go(waitedFor()),
               c: () => setCompact(!view.compact), '/': () => { field.focus(); field.select(); }, Escape: () => choose(null) };
window.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
  if (event.target === field && event.key !== 'Escape') return;
  KEYS[event.key]();
  if (event.target === field) canvas.focus();
  event.preventDefault();
});
field.addEventListener('keydown', event => {
  if (event.key === 'Enter' && field.value.trim()) goToNamed(field.value, panelInView());
});
window.addEventListener('hashchange', fromAddress);
document.getElementById('in').onclick = () => zoom(1.5);
document.getElementById('out').onclick = () => zoom(1 / 1.5);
document.getElementById('fit').onclick = fit;
document.getElementById('compact').onclick = () => setCompact(!view.compact);
let size = '';
function resized() {  // compact rows are as high as the page lets them
  if (size === wide() + ' ' + high()) return;
  size = wide() + ' ' + high();
  plan = layOut(data, view.compact, high());
  if (view.fits) fitTime();
  move(0, 0);
}
window.addEventListener('resize', resized);

// ---- legend -------------------------------------------------------------------------------------
function showLegend() {
  const legend = document.getElementById('legend'), seen = new Set();
  legend.textContent = '';
  const put = (text, ...colours) => {
    if (seen.has(text + colours)) return;
    seen.add(text + colours);
    const entry = document.createElement('span');
    for (const colour of colours) { const box = document.createElement('i'); box.style.background = colour; entry.append(box); }
    entry.append(text);
    legend.append(entry);
  };
  const some = what => data.panels.some(what);
  const shadesOf = op => [...new Set(op.shades.map(shade => shade[0]))];
  for (const panel of data.panels) for (const op of panel.ops) put(op.name, ...shadesOf(op));
  if (some(panel => panel.ops.some(op => shadesOf(op).length > 1))) put('shades of one op: its chunks, from the first');
  if (some(panel => panel.causes.length)) put('idle', IDLE);
  for (const panel of data.panels) for (const cause of panel.causes) put('idle: ' + cause.name, cause.colour);
  if (!view.compact && some(panel => panel.resources.length)) put('held, its peak on the left; dashed: capacity', HELD);
  put('numbers: microbatches');
  if (!view.compact && some(panel => panel.chunks > 1)) put('mark in a task: its chunk, the first on the left');
  if (some(panel => panel.rows.some(row => row.half))) put('two tasks at once share the height');
  if (some(panel => panel.steps.length > 1)) put('line from top to bottom: first start of a step');
  put('where tasks are too narrow to draw: how busy the engine is, by op, full height all the time');
}

try {
  document.getElementById('tools').hidden = false;
  said.textContent = HELP;
  setCompact(data.compact);
  resized();
  fit();
  if (data.range) fitRange(data.range);
  fromAddress();
} catch (error) {
  said.textContent = 'This browser cannot draw the timeline: ' + error.message;
}
