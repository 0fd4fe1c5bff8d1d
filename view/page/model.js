'use strict';
// The data of the page, read and asked. view/page/panel_data.cpp describes and writes them. Nothing here
// knows of the document: tests run this part alone.
const NOTHING = 0, ENGINE = 1, HANDOVER = 2, NEED = 3, MESSAGE = 4, ROOM = 5, TURN = 6, REASONS = 7;

// ---- reading ------------------------------------------------------------------------------------
const DIGITS = new Uint8Array(128);
[...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].forEach((c, i) => { DIGITS[c.charCodeAt(0)] = i; });
function bytesOf(base64) {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  const bytes = new Uint8Array(base64.length / 4 * 3 - padding);
  for (let i = 0, at = 0; i < base64.length; i += 4) {  // what is written beyond the end is dropped
    const digit = k => DIGITS[base64.charCodeAt(i + k)];
    const three = digit(0) << 18 | digit(1) << 12 | digit(2) << 6 | digit(3);
    bytes[at++] = three >> 16; bytes[at++] = three >> 8; bytes[at++] = three;
  }
  return bytes;
}
class Reader {
  constructor(bytes, at = 0) { this.bytes = bytes; this.at = at; }
  number() {  // LEB128; beyond 32 bits, hence no shifts
    let value = 0, scale = 1, byte;
    do { byte = this.bytes[this.at++]; value += (byte & 127) * scale; scale *= 128; } while (byte > 127);
    return value;
  }
  signed() { const n = this.number(); return n % 2 ? -(n + 1) / 2 : n / 2; }
  get done() { return this.at >= this.bytes.length; }
}
function readRow(panel, row) {
  const reader = new Reader(bytesOf(row.data)), n = row.count;
  const last = new Int32Array(row.endLane - row.firstLane).fill(-1);
  row.bytes = reader.bytes;
  row.data = null;
  row.start = new Float64Array(n); row.end = new Float64Array(n);
  row.lane = new Int32Array(n); row.mb = new Int32Array(n); row.step = new Int32Array(n);
  row.why = new Uint32Array(n);  // where in `bytes` its reason is
  let time = 0, step = 0;
  for (let i = 0; i < n; ++i) {
    row.start[i] = time += reader.number() * panel.tick;
    row.end[i] = time += reader.number() * panel.tick;
    const lane = reader.number();
    row.lane[i] = row.firstLane + lane;
    row.mb[i] = last[lane] += 1 + reader.signed();
    row.step[i] = step += reader.signed();
    row.why[i] = reader.at;
    if (skipReason(reader, row) < 0) throw new Error('a row is cut short');
  }
  readIdle(panel, row);
}
function readIdle(panel, row) {
  const reader = new Reader(bytesOf(row.idle));
  row.idle = [];
  for (let time = 0; !reader.done;) {
    const start = time += reader.number() * panel.tick, end = time += reader.number() * panel.tick;
    row.idle.push({ start, end, cause: panel.causes[reader.number()] });
  }
}
const isNamed = (why, row) => why > (row.half === undefined ? ENGINE : NOTHING);  // the other task
function skipReason(reader, row) {
  const why = reader.number() % REASONS;
  if (isNamed(why, row)) { reader.number(); reader.signed(); }
  if (why > NOTHING) reader.number();
  return reader.at <= reader.bytes.length ? why : -1;
}
function reasonOf(panel, row, i) {
  const reader = new Reader(row.bytes, row.why[i]), code = reader.number();
  const reason = { why: code % REASONS, pool: Math.floor(code / REASONS) - 1, at: row.start[i] };
  if (isNamed(reason.why, row)) {
    reason.lane = reader.number();
    reason.mb = row.mb[i] + reader.signed();
    reason.step = row.step[i];
  } else if (reason.why === ENGINE) {
    reason.lane = row.lane[i - 1]; reason.mb = row.mb[i - 1]; reason.step = row.step[i - 1];
  }
  if (reason.why > NOTHING) reason.at -= reader.number() * panel.tick;
  return reason;
}
// Rows know their panel's other half; everything else is as written.
function readData(data) {
  for (const panel of data.panels) {
    panel.rows.forEach((row, r) => {
      readRow(panel, row);
      if (row.half) { row.other = panel.rows[r - 1]; row.other.other = row; }
    });
  }
  return data;
}

// ---- names --------------------------------------------------------------------------------------
// Which microbatch the lane's mb-th is: lanes that have only some list those of a period, and the period.
function microbatchOf(panel, lane, mb) {
  const share = panel.lanes[lane][4];
  if (!share) return mb;
  const size = share.length - 1;
  return Math.floor(mb / size) * share[size] + share[mb % size];
}
function mbOf(panel, lane, microbatch) {  // -1: the lane has no such microbatch
  const share = panel.lanes[lane][4];
  if (microbatch >= (panel.lanes[lane][3] ? 1 : panel.microbatches)) return -1;
  if (!share) return microbatch;
  const size = share.length - 1, k = share.slice(0, size).indexOf(microbatch % share[size]);
  return k < 0 ? -1 : Math.floor(microbatch / share[size]) * size + k;
}
const nameOf = (panel, lane, mb) => panel.lanes[lane][1] + panel.ops[panel.lanes[lane][0]].name + microbatchOf(panel, lane, mb);
// As findTask() takes it.
function addressOf(data, { panel, row, i }) {
  return (data.panels.length > 1 ? data.panels.indexOf(panel) + 1 + ':' : '') + nameOf(panel, row.lane[i], row.mb[i]) +
    (panel.steps.length > 1 ? '@' + (panel.firstStep + row.step[i]) : '');
}

// ---- finding ------------------------------------------------------------------------------------
// Of a row, made when it is first asked: which task is that of a step, lane and microbatch.
function find(panel, step, lane, mb) {
  for (const row of panel.rows) {
    if (lane < row.firstLane || lane >= row.endLane) continue;
    const lanes = row.endLane - row.firstLane;
    const place = (s, l, m) => (s * lanes + l - row.firstLane) * panel.microbatches + m;
    if (!row.places) {
      row.places = new Int32Array(panel.steps.length * lanes * panel.microbatches).fill(-1);
      for (let i = 0; i < row.count; ++i) row.places[place(row.step[i], row.lane[i], row.mb[i])] = i;
    }
    const i = row.places[place(step, lane, mb)];
    if (i >= 0) return { panel, row, i };
  }
  return null;
}
// What a name can be: lanes and microbatches, in the letters' case if that is some.
function tasksNamed(panel, name) {
  const named = same => panel.lanes.flatMap((lane, id) => {
    const start = lane[1] + panel.ops[lane[0]].name, digits = name.slice(start.length);
    if (same(name.slice(0, start.length)) !== same(start) || !/^\d+$/.test(digits)) return [];
    const mb = mbOf(panel, id, Number(digits));
    return mb < 0 ? [] : [{ lane: id, mb }];
  });
  const exact = named(text => text);
  return exact.length ? exact : named(text => text.toLowerCase());
}
// `2F0`; `2:2F0@3` is that of the second panel, in step 3. Without a panel, that of number `usual`;
// without a step, the last one in which it ran, as of `ripeline why`. {panel, row, i}, or {error}.
function findTask(data, text, usual = 0) {
  const parts = /^(?:(\d+):)?([^\s:@]+)(?:@(\d+))?$/.exec(text.trim());
  if (!parts) return { error: `'${text.trim()}' is no task: expected a stage, an op and a microbatch, as 2F0` };
  const number = parts[1] ? Number(parts[1]) - 1 : usual, panel = data.panels[number], name = parts[2];
  if (!panel) return { error: `there is no panel ${parts[1]}: they are 1 to ${data.panels.length}` };
  const tasks = tasksNamed(panel, name);
  const range = most => (most > 0 ? `0 to ${most}` : '0');
  if (!tasks.length) {
    const stages = panel.lanes.reduce((most, lane) => Math.max(most, lane[1]), 0);
    return { error: `'${name}' is no task of ${panel.title}: stages ${range(stages)}, ops ${panel.ops.map(op => op.name).join(' ')}, ` +
      `microbatches ${range(panel.microbatches - 1)}, as ${panel.lanes.length ? nameOf(panel, 0, 0) : '2F0'}` };
  }
  const first = panel.firstStep, steps = panel.steps.length, wanted = parts[3] === undefined ? -1 : Number(parts[3]) - first;
  if (parts[3] !== undefined && (wanted < 0 || wanted >= steps)) {
    return { error: `there is no step ${parts[3]}: ${steps > 1 ? `they are ${first} to ${first + steps - 1}` : `the only one is ${first}`}` };
  }
  for (let step = wanted < 0 ? steps - 1 : wanted; step >= Math.max(0, wanted); --step) {
    for (const { lane, mb } of tasks) {
      const found = find(panel, step, lane, mb);
      if (found) return found;
    }
  }
  return { error: `${name} did not run` + (wanted < 0 ? '' : ` in step ${parts[3]}`) };
}
// A task and what it waited for, and so on, back to the start.
function chainOf({ panel, row, i }) {
  const chain = [];
  for (let at = { row, i }; at && chain.length < 100000;) {
    chain.push(at);
    const reason = reasonOf(panel, at.row, at.i);
    const next = reason.why === NOTHING ? null : find(panel, reason.step, reason.lane, reason.mb);
    at = next && next.row.start[next.i] <= at.row.start[at.i] ? next : null;
  }
  return chain;
}
function firstAfter(row, time) {  // the first task that ends after `time`
  let low = 0, high = row.count;
  while (low < high) { const mid = (low + high) >> 1; if (row.end[mid] > time) high = mid; else low = mid + 1; }
  return low;
}
// Of the engine's other row, which ran while it ran; and when both did.
function besides(row, i) {
  const found = [], other = row.other;
  for (let k = other ? firstAfter(other, row.start[i]) : 0; other && k < other.count && other.start[k] < row.end[i]; ++k) found.push(k);
  return found;
}
const both = (row, i, k) => [Math.max(row.start[i], row.other.start[k]), Math.min(row.end[i], row.other.end[k])];

// ---- what many tasks are together ---------------------------------------------------------------
// What is told apart there: each op at each chunk, as it has a shade of its own.
const kindsOf = panel => panel.ops.length * panel.chunks;
function binCount(panel, rows) {
  const tasks = rows.reduce((sum, row) => sum + row.count, 0);
  return Math.max(1, Math.min(8192, tasks, Math.floor((1 << 17) / kindsOf(panel))));
}
// How busy each kind keeps the engine, in bins of equal length; made when first seen. Of two tasks
// at once each counts half.
function busyOf(panel, rows) {
  if (rows[0].busy) return rows[0].busy;
  const n = binCount(panel, rows), kinds = kindsOf(panel), width = panel.length / n || 1;
  const busy = rows[0].busy = new Float32Array(n * kinds);
  const add = (kind, start, end, part) => {
    for (let b = Math.floor(start / width); b < n && b * width < end; ++b) {
      busy[b * kinds + kind] += part * (Math.min(end, (b + 1) * width) - Math.max(start, b * width)) / width;
    }
  };
  for (const row of rows) {
    for (let i = 0; i < row.count; ++i) {
      const lane = panel.lanes[row.lane[i]], kind = lane[0] * panel.chunks + lane[2];
      add(kind, row.start[i], row.end[i], 1);
      if (!row.other) continue;
      for (const k of besides(row, i)) add(kind, ...both(row, i, k), -0.5);
    }
  }
  return busy;
}
// What a rank holds of a resource: times and levels, made when first seen. `rows` are all of the rank.
function curveOf(panel, rows, resource) {
  const curves = rows[0].curves = rows[0].curves || [];
  if (curves[resource]) return curves[resource];
  const changes = [];
  for (const row of rows) {
    for (let i = 0; i < row.count; ++i) {
      for (const [pool, acquires, releases] of panel.uses[row.lane[i]] || []) {
        if (panel.pools[pool][0] !== resource) continue;
        if (acquires) changes.push([row.start[i], 1, acquires]);
        if (releases) changes.push([row.end[i], 0, -releases]);
      }
    }
  }
  changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const time = new Float64Array(changes.length), held = new Float64Array(changes.length);
  let level = 0, peak = 0;
  changes.forEach((change, i) => { level += change[2]; time[i] = change[0]; held[i] = level; peak = Math.max(peak, level); });
  return curves[resource] = { time, held, peak };
}

// ---- layout -------------------------------------------------------------------------------------
const ROW = 22, SHARED = 32, CURVE = 20;
const LEAST_ROW = 10, MOST_ROW = 16;  // of the compact mode, with the gap below
const headOf = (data, panel) => (data.panels.length > 1 ? 20 : 0) + (panel.steps.length > 1 ? 16 : 0) + 24;
const enginesOf = panel => panel.rows.filter(row => !row.half).length;
// Compact rows are as high as lets all of a panel be seen at once, within limits.
function compactRow(data, height) {
  const fitting = data.panels.map(panel => Math.floor((height - headOf(data, panel)) / Math.max(1, enginesOf(panel))));
  return Math.max(LEAST_ROW, Math.min(MOST_ROW, ...fitting));
}
// Puts panels and rows at their y, and gives what is drawn from top to bottom: {items, bottom}.
function layOut(data, compact, height) {
  const items = [], gap = compact ? 1 : 2, whole = compact ? compactRow(data, height) - gap : ROW;
  let y = 0;
  for (const panel of data.panels) {
    panel.y = y;
    y += panel.head = headOf(data, panel);
    if (panel.stuck.waits.length) y += 12;  // arrows go above the first row
    for (let r = 0; r < panel.rows.length;) {
      const rank = panel.rows[r].rank, rows = [];
      let engine = null;
      for (; r < panel.rows.length && panel.rows[r].rank === rank; ++r) {
        const row = panel.rows[r], h = row.other && !compact ? SHARED : whole;
        rows.push(row);
        row.h = row.other ? h / 2 : h;
        if (row.half) { row.y = engine.y + row.h; engine.rows.push(row); continue; }
        row.y = y;
        items.push(engine = { kind: 'row', panel, rows: [row], y, h });
        y += h + gap;
      }
      if (compact) continue;
      panel.resources.forEach((resource, index) => {
        const pools = panel.pools.filter(p => p[0] === index && p[1] === rank);
        if (!pools.length) return;
        const capacity = pools.every(p => p[2] >= 0) ? pools.reduce((sum, p) => sum + p[2], 0) : -1;
        items.push({ kind: 'curve', panel, rows, resource: index, capacity, y, h: CURVE });
        y += CURVE + 2;
      });
      y += 4;
    }
    panel.end = y;
    if (panel.stuck.waits.length) {
      const h = 16 * Math.min(9, panel.stuck.waits.length + 1);
      items.push({ kind: 'stuck', panel, y: y + 4, h });
      y += h + 4;
    }
    y += 14;
    panel.bottom = y;
  }
  return { items, bottom: y };
}

// ---- axis ---------------------------------------------------------------------------------------
// Between marks: 1, 2 or 5 times a power of ten.
function axisStep(length, most) {
  const least = length / most, ten = Math.pow(10, Math.floor(Math.log10(least)));
  for (const factor of [1, 2, 5, 10]) if (ten * factor >= least * (1 - 1e-9)) return ten * factor;
  return ten * 10;
}
const inUnit = (panel, time) => String(+(time / panel.unit.nanoseconds).toPrecision(7));
// The steps to mark between `from` and `until`, those that are `apart` at least; the first is the
// one that runs at `from`.
function stepMarks(panel, from, until, apart) {
  const marks = [];
  panel.steps.forEach((start, k) => {
    if (start < 0 || start > until) return;
    const mark = { step: panel.firstStep + k, start };
    if (start <= from) marks[0] = mark;
    else if (!marks.length || start - Math.max(from, marks[marks.length - 1].start) >= apart) marks.push(mark);
  });
  return marks;
}
