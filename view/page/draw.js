// ---- drawing ------------------------------------------------------------------------------------
// Everything within the canvas: what layOut() has placed, below the head of its panel, which stays in
// view. Names of ranks stand in a column of their own, on the left of LEFT.
const LEFT = 130, NARROW = 2, COLUMN = 2, INK = '#111', IDLE = '#f3f3f3', HELD = '#7d8590', RED = '#b00020';
const canvas = document.getElementById('plot');
const ctx = canvas.getContext('2d');
const data = readData(JSON.parse(document.getElementById('data').textContent));
const longest = Math.max(1, ...data.panels.map(panel => panel.length));
const stuckRoom = data.panels.some(panel => panel.stuck.waits.length) ? 120 : 16;
const view = { from: 0, scale: 1, top: 0, fits: true, compact: data.compact };  // ns at the left, pixels per ns, pixels scrolled
let plan = { items: [], bottom: 0 };
let chosen = null;  // {panel, row, i, chain}
const wide = () => canvas.clientWidth, high = () => canvas.clientHeight;
const x = time => LEFT + (time - view.from) * view.scale;
const until = () => view.from + (wide() - LEFT) / view.scale;
const font = (size, weight = '') => { ctx.font = `${weight} ${size}px system-ui, sans-serif`; };
function within(left, top, width, height, drawing) {
  ctx.save(); ctx.beginPath(); ctx.rect(left, top, width, height); ctx.clip();
  drawing();
  ctx.restore();
}
// The colours of tasks: [their own, that of text on it].
const shadeOf = (panel, op, chunk) => panel.ops[op].shades[chunk];

// Its place while its panel is in view; it is drawn over the rows.
const headY = panel => Math.min(Math.max(0, panel.y - view.top), panel.end - view.top - panel.head);
function drawHead(panel) {
  let y = headY(panel);
  if (y + panel.head < 0 || y > high()) return;
  ctx.fillStyle = '#fff'; ctx.fillRect(0, y, wide(), panel.head);
  ctx.fillStyle = INK;
  if (data.panels.length > 1) {
    font(13, 600); ctx.fillText(`${data.panels.indexOf(panel) + 1}  ${panel.title}`, 8, y + 15);
    y += 20;
  }
  font(12); ctx.fillText('time in ' + panel.unit.name, 8, headY(panel) + panel.head - 9);
  if (panel.steps.length > 1) { drawStepNumbers(panel, y); y += 16; }
  const unit = panel.unit.nanoseconds, gap = axisStep((wide() - LEFT) / view.scale / unit, (wide() - LEFT) / 70);
  within(LEFT - 20, y, wide() - LEFT + 20, 24, () => {
    ctx.textAlign = 'center'; ctx.strokeStyle = '#fff'; ctx.lineWidth = 4;  // numbers stand before lines of steps
    for (let t = Math.ceil(view.from / unit / gap) * gap; x(t * unit) < wide(); t += gap) {
      if (x(t * unit) < LEFT - 1) continue;
      const text = String(+t.toPrecision(7)), half = ctx.measureText(text).width / 2;
      const left = Math.min(x(t * unit), wide() - half - 3);
      ctx.strokeText(text, left, y + 15); ctx.fillText(text, left, y + 15);
      ctx.fillRect(x(t * unit), y + 19, 1, 5);
    }
    ctx.textAlign = 'left';
  });
}
function drawStepNumbers(panel, y) {
  within(LEFT, y, wide() - LEFT, 40, () => {
    for (const { step, start } of stepMarks(panel, view.from, Math.min(until(), panel.length), 64 / view.scale)) {
      const at = Math.max(LEFT, x(start));
      ctx.fillRect(at, y + 2, 1, 38);
      ctx.fillText('step ' + step, at + 4, y + 12);
    }
  });
}
function drawStepLines(panel) {
  const shown = panel.steps.filter(start => start >= Math.max(view.from, 1) && start <= until());
  if (panel.steps.length < 2 || shown.length * 4 > wide() - LEFT) return;
  const top = Math.max(panel.y + panel.head - view.top, 0), end = Math.min(panel.end - view.top, high());
  if (end <= top) return;
  for (const start of shown) {  // black on white, so that it is seen on any colour
    ctx.fillStyle = '#fff'; ctx.fillRect(x(start) - 1.5, top, 3, end - top);
    ctx.fillStyle = INK; ctx.fillRect(x(start) - 0.5, top, 1, end - top);
  }
}
function drawRow(item, y) {
  const { panel, rows } = item;
  font(Math.min(12, Math.max(10, item.h)));
  ctx.fillStyle = INK; ctx.fillText(rows[0].name, 8, y + Math.min(item.h / 2 + 4, 15));
  within(LEFT, y, wide() - LEFT, item.h, () => {
    ctx.fillStyle = IDLE; ctx.fillRect(x(0), y, panel.length * view.scale, item.h);
    drawIdle(rows[0], y, item.h);
    const seen = rows.map(row => [row, firstAfter(row, view.from), Math.min(row.count, firstAfter(row, until()) + 1)]);
    const count = seen.reduce((sum, [, first, end]) => sum + end - first, 0);
    const pixels = Math.max(1, x(Math.min(until(), panel.length)) - Math.max(LEFT, x(0)));
    if (count * NARROW > pixels && panel.length / binCount(panel, rows) * view.scale < 8) drawBins(item, y);
    else for (const [row, first, end] of seen) for (let i = first; i < end && row.start[i] < until(); ++i) drawBox(item, row, i, y);
  });
}
function drawIdle(row, y, h) {
  const idle = row.idle;
  let low = 0;
  for (let high = idle.length; low < high;) { const mid = (low + high) >> 1; if (idle[mid].end > view.from) high = mid; else low = mid + 1; }
  for (let k = low; k < idle.length && idle[k].start < until(); ++k) {
    ctx.fillStyle = idle[k].cause.colour;
    ctx.fillRect(x(idle[k].start), y, (idle[k].end - idle[k].start) * view.scale, h);
  }
}
function drawBox(item, row, i, y) {
  const panel = item.panel, lane = panel.lanes[row.lane[i]], [colour, ink] = shadeOf(panel, lane[0], lane[2]);
  const from = x(row.start[i]), width = Math.max(0.4, x(row.end[i]) - from), at = besides(row, i);
  const fill = (left, wide, top, h) => ctx.fillRect(left, top, wide > 3 ? wide - 0.7 : wide, h);
  ctx.fillStyle = colour;
  let h = item.h;
  if (at.length) {  // half the height, and all of it while it ran alone
    h = row.h;
    let alone = row.start[i];
    for (const [start, end] of [...at.map(k => both(row, i, k)), [row.end[i], 0]]) {
      if (start > alone) fill(x(alone), x(start) - x(alone), y, item.h);
      alone = end;
    }
    y += row.y - item.y;
  }
  fill(from, width, y, h);
  if (h < 10) return;  // no room for text
  ctx.fillStyle = ink;
  if (panel.chunks > 1 && width > 10 && h > 14) ctx.fillRect(from + 1 + (width - 2) / panel.chunks * lane[2], y + h - 3.5, (width - 2) / panel.chunks, 2.5);
  const whole = nameOf(panel, row.lane[i], row.mb[i]), name = width > 7.2 * whole.length + 6 ? whole : lane[3] ? '' : String(microbatchOf(panel, row.lane[i], row.mb[i]));
  const size = h < 14 ? 10 : 12;
  if (!name || width < 0.64 * size * name.length + 3) return;
  font(size);
  ctx.textAlign = 'center'; ctx.fillText(name, from + (width - 0.7) / 2, y + h / 2 + (h < 14 || at.length ? 4 : 3)); ctx.textAlign = 'left';
}
// Shade by shade, so that a colour is set once.
function drawBins(item, y) {
  const { panel, rows } = item, busy = busyOf(panel, rows), kinds = kindsOf(panel), bins = binCount(panel, rows), each = panel.length / bins;
  const first = Math.max(0, Math.floor(view.from / each)), last = Math.min(bins, Math.ceil(until() / each));
  const group = Math.max(1, Math.round(COLUMN / (each * view.scale)));
  const begin = first - first % group, below = new Float32Array(Math.ceil(Math.max(0, last - begin) / group));
  for (let kind = 0; kind < kinds; ++kind) {
    ctx.fillStyle = shadeOf(panel, Math.floor(kind / panel.chunks), kind % panel.chunks)[0];
    for (let b = begin, at = 0; b < last; b += group, ++at) {
      const n = Math.min(group, bins - b);
      let share = 0;
      for (let k = 0; k < n; ++k) share += busy[(b + k) * kinds + kind];
      if (share < 1e-6) continue;
      share /= n;
      ctx.fillRect(x(b * each), y + item.h * (1 - below[at] - share), n * each * view.scale + 0.3, item.h * share);
      below[at] += share;
    }
  }
}
function drawCurve(item, y) {
  const curve = curveOf(item.panel, item.rows, item.resource), resource = item.panel.resources[item.resource];
  const most = Math.max(1, curve.peak, item.capacity), floor = y + CURVE;
  const height = held => (CURVE - 3) * held / most;
  font(11); ctx.fillStyle = INK;
  within(0, y, LEFT - 4, CURVE, () => ctx.fillText(`${resource.name} ${curve.peak} ${resource.unit}`, 18, floor - 5));
  within(LEFT, y, wide() - LEFT, CURVE, () => {
    ctx.fillStyle = HELD;
    let i = 0, level = 0;
    for (let low = 0, up = curve.time.length; low < up;) {
      const mid = (low + up) >> 1;
      if (curve.time[mid] > view.from) up = mid; else i = low = mid + 1;
    }
    if (i > 0) level = curve.held[i - 1];
    let from = Math.max(LEFT, x(0));
    const right = Math.min(wide(), x(item.panel.length));
    while (from < right) {
      let to = i < curve.time.length ? Math.max(Math.round(x(curve.time[i])), from) : right;
      if (to > right) to = right;
      if (level > 0) ctx.fillRect(from, floor - height(level), to - from, height(level));
      if (i >= curve.time.length) break;
      // Of the levels within a pixel the highest is seen.
      let best = 0;
      const edge = to + 1;
      const here = curve.time[i];
      do { level = curve.held[i++]; if (i >= curve.time.length || curve.time[i] > curve.time[i - 1]) best = Math.max(best, level); }
      while (i < curve.time.length && x(curve.time[i]) < edge);
      if (curve.time[i - 1] > here) { ctx.fillRect(to, floor - height(best), 1, height(best)); from = edge; } else from = to;
      if (to >= right) break;
    }
    if (item.capacity < 0) return;
    ctx.strokeStyle = INK; ctx.setLineDash([3, 3]); ctx.beginPath();
    ctx.moveTo(Math.max(LEFT, x(0)), floor - height(item.capacity) + 0.5); ctx.lineTo(right, floor - height(item.capacity) + 0.5);
    ctx.stroke(); ctx.setLineDash([]);
  });
}
function arrow(x1, y1, x2, y2, bend) {
  ctx.beginPath(); ctx.moveTo(x1, y1);
  ctx.bezierCurveTo(x1 + bend, y1, x2 + bend, y2, x2, y2); ctx.stroke();
  tip8(x2, y2, Math.atan2(0, -bend));
}
function tip8(x2, y2, angle) {
  ctx.beginPath(); ctx.moveTo(x2, y2);
  ctx.lineTo(x2 - 8 * Math.cos(angle - 0.4), y2 - 8 * Math.sin(angle - 0.4));
  ctx.lineTo(x2 - 8 * Math.cos(angle + 0.4), y2 - 8 * Math.sin(angle + 0.4)); ctx.fill();
}
// Within a row: to the right above it, to the left below.
function arch(x1, x2, y, h, side) {
  const edge = y + side * (h / 2 - 2), top = y + side * (h / 2 + 12);
  ctx.beginPath(); ctx.moveTo(x1, edge); ctx.quadraticCurveTo((x1 + x2) / 2, top, x2, edge); ctx.stroke();
  tip8(x2, edge, Math.atan2(edge - top, x2 - (x1 + x2) / 2));
}
function drawStuck(panel) {
  const { waits, circle } = panel.stuck, places = [], used = new Map();
  ctx.strokeStyle = ctx.fillStyle = RED; ctx.lineWidth = 1.6;
  waits.forEach((wait, i) => {
    if (circle > 0 && i >= circle) return;
    const row = panel.rows[wait.row], y = row.y - view.top;
    font(row.h < 14 ? 10 : 12);
    const width = 10 + ctx.measureText(wait.task).width, left = used.get(wait.row) || x(panel.length) + 14;
    used.set(wait.row, left + width + 12);
    ctx.setLineDash([4, 2]); ctx.strokeRect(left, y + 1, width, row.h - 2); ctx.setLineDash([]);
    ctx.textAlign = 'center'; ctx.fillText(wait.task, left + width / 2, y + row.h / 2 + 4); ctx.textAlign = 'left';
    places[i] = { left, right: left + width, y: y + row.h / 2, h: row.h };
  });
  for (let i = 0; i < circle; ++i) {
    const a = places[i], b = places[(i + 1) % circle];
    if (a.y === b.y) { if (a !== b) arch((a.left + a.right) / 2, (b.left + b.right) / 2, a.y, a.h, a.left < b.left ? -1 : 1); }
    else if (a.y < b.y) arrow(a.right, a.y, b.right, b.y, 28 + Math.abs(a.right - b.right) / 2);
    else arrow(a.left, a.y, b.left, b.y, -28 - Math.abs(a.left - b.left) / 2);
  }
  ctx.lineWidth = 1;
}
function drawWaits(item, y) {
  const { waits, circle } = item.panel.stuck;
  font(12);
  waits.slice(0, 8).forEach((wait, i) => {
    ctx.fillStyle = i < circle ? RED : '#444';
    ctx.fillText(`${wait.task} waits for ${wait.text}`, LEFT, y + 12 + 16 * i);
  });
  ctx.fillStyle = '#444';
  if (waits.length > 8) ctx.fillText(`and ${waits.length - 8} more`, LEFT, y + 12 + 16 * 8);
}
// Black on white, so that it is seen on any colour.
function outlined(drawing, width) {
  for (const [colour, more] of [['#fff', 2.5], [INK, 0]]) { ctx.strokeStyle = colour; ctx.lineWidth = width + more; drawing(); }
  ctx.lineWidth = 1;
}
function drawChain() {
  const box = ({ row, i }) => ctx.strokeRect(x(row.start[i]) + 1, row.y - view.top + 1, Math.max(1, (row.end[i] - row.start[i]) * view.scale - 2), row.h - 2);
  const link = ({ row, i }, next) => {  // from what it waited for
    ctx.beginPath(); ctx.moveTo(x(Math.min(next.row.end[next.i], row.start[i])), next.row.y - view.top + next.row.h / 2);
    ctx.lineTo(x(row.start[i]), row.y - view.top + row.h / 2); ctx.stroke();
  };
  const { chain } = chosen;
  outlined(() => chain.forEach((one, k) => { box(one); if (chain[k + 1] && chain[k + 1].row !== one.row) link(one, chain[k + 1]); }), 1.7);
  outlined(() => box(chosen), 3);
}
// A flag with its name, above the chosen task, or below where the head is.
function drawFlag() {
  const { panel, row, i } = chosen, y = row.y - view.top, text = nameOf(panel, row.lane[i], row.mb[i]);
  const middle = x((row.start[i] + row.end[i]) / 2), head = Math.max(0, headY(panel) + panel.head);
  if (y + row.h < head || y > high() || middle < LEFT || middle > wide()) return;
  font(12, 600);
  const width = ctx.measureText(text).width + 10, left = Math.max(LEFT, Math.min(wide() - width, middle - width / 2));
  const above = y - 24 > head, top = above ? y - 24 : y + row.h + 6, point = above ? y - 2 : y + row.h + 2, base = above ? top + 17 : top + 1;
  ctx.fillStyle = '#fff'; ctx.fillRect(left - 1.5, top - 1.5, width + 3, 21);
  ctx.fillStyle = INK; ctx.fillRect(left, top, width, 18);
  ctx.beginPath(); ctx.moveTo(middle, point); ctx.lineTo(middle - 5, base); ctx.lineTo(middle + 5, base); ctx.fill();
  ctx.fillStyle = '#fff'; ctx.fillText(text, left + 5, top + 13);
}
// Where the rows in view are among all.
function drawScroll() {
  if (plan.bottom <= high()) return;
  ctx.fillStyle = '#0003'; ctx.fillRect(wide() - 6, 0, 6, high());
  ctx.fillStyle = '#0009'; ctx.fillRect(wide() - 6, high() * view.top / plan.bottom, 6, high() * high() / plan.bottom);
}
function draw() {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = wide() * ratio; canvas.height = high() * ratio;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  for (const item of plan.items) {
    const y = item.y - view.top;
    if (y + item.h < 0 || y > high()) continue;
    if (item.kind === 'row') drawRow(item, y);
    if (item.kind === 'curve') drawCurve(item, y);
    if (item.kind === 'stuck') drawWaits(item, y);
  }
  within(LEFT, 0, wide() - LEFT, high(), () => {
    for (const panel of data.panels) {
      drawStepLines(panel);
      if (panel.stuck.waits.length) drawStuck(panel);
    }
    if (chosen) drawChain();
  });
  for (const panel of data.panels) drawHead(panel);
  if (chosen) drawFlag();
  drawScroll();
}
let due = false;
function redraw() { if (!due) { due = true; requestAnimationFrame(() => { due = false; draw(); }); } }

