// Conveniences of the page, which is whole without them: read points, hide curves, choose a figure, copy figures and tables.
'use strict';
const SVG = 'http://www.w3.org/2000/svg';
const made = (name, properties, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
const button = (text, run) => made('button', { type: 'button', textContent: text, onclick: run });

// Puts text or a picture on the clipboard; where that is refused, saves it as a file.
async function copy(from, name, blob) {
  from.dataset.text ??= from.textContent;
  try {
    await navigator.clipboard.write([new ClipboardItem({ [blob.type]: blob })]);
    from.textContent = 'Copied';
  } catch {
    const link = made('a', { href: URL.createObjectURL(blob), download: name });
    link.click();
    URL.revokeObjectURL(link.href);
    from.textContent = 'Saved';
  }
  setTimeout(() => { from.textContent = from.dataset.text; }, 2000);
}
const plain = text => new Blob([text], { type: 'text/plain' });

// Returns legend and panels of a figure as one drawing, in the colours of print; hidden curves stay hidden.
function drawing(figure) {
  const whole = document.createElementNS(SVG, 'svg');
  const add = (svg, x, y) => {
    const part = svg.cloneNode(true);
    part.removeAttribute('tabindex');
    for (const [key, value] of Object.entries({ x, y })) part.setAttribute(key, value);
    whole.append(part);
  };
  const panels = [...figure.querySelectorAll('.panels svg')];
  const [columns, width, height] = [Math.min(3, panels.length), 440, 318];
  const entries = [...figure.querySelectorAll('.legend li:not(.off)')];
  let [x, y] = [60, 8];
  for (const entry of entries) {
    const name = entry.textContent.trim();
    if (60 < x && columns * width < x + 56 + 7.3 * name.length) [x, y] = [60, y + 20];
    add(entry.querySelector('svg'), x, y);
    const text = document.createElementNS(SVG, 'text');
    for (const [key, value] of Object.entries({ x: x + 40, y: y + 13.5, fill: '#222222' })) text.setAttribute(key, value);
    text.textContent = name;
    whole.append(text);
    x += 56 + 7.3 * name.length;
  }
  const top = entries.length ? y + 20 : 0;
  panels.forEach((panel, i) => add(panel, (i % columns) * width, top + Math.floor(i / columns) * height));
  const size = [columns * width, top + Math.ceil(panels.length / columns) * height];
  const attributes = { width: size[0], height: size[1], viewBox: `0 0 ${size.join(' ')}`, 'font-size': 13,
    'font-family': 'DejaVu Sans, Verdana, Helvetica, Arial, sans-serif' };
  for (const [key, value] of Object.entries(attributes)) whole.setAttribute(key, value);
  const paper = document.createElementNS(SVG, 'rect');
  for (const [key, value] of Object.entries({ width: '100%', height: '100%', fill: '#FFFFFF' })) paper.setAttribute(key, value);
  whole.prepend(paper);
  return { size, text: new XMLSerializer().serializeToString(whole) };
}

async function picture(figure) {
  const { size, text } = drawing(figure);
  const image = new Image();
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
  await image.decode();
  const canvas = made('canvas', { width: 2 * size[0], height: 2 * size[1] });
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(done => canvas.toBlob(done, 'image/png'));
}

const reading = made('div', { className: 'reading', hidden: true, role: 'status' });
document.body.append(reading);
const titles = new Map();
let marked = null;

// Shows the numbers of a point beside it; of none, hides them.
function show(point) {
  marked?.classList.remove('marked');
  marked = point;
  reading.hidden = !point;
  if (!point) return;
  point.classList.add('marked');
  reading.textContent = titles.get(point);
  const [at, wide] = [point.getBoundingClientRect(), document.documentElement.clientWidth];
  const left = Math.max(8, Math.min(at.right + 10, wide - reading.offsetWidth - 8));
  reading.style.left = `${left + scrollX}px`;
  reading.style.top = `${Math.max(at.top - reading.offsetHeight - 8, 4) + scrollY}px`;
}

for (const svg of document.querySelectorAll('.panels svg')) {
  // The page's own box replaces the browser's slow one.
  const points = [...svg.querySelectorAll('title')].map(title => {
    const point = title.parentElement;
    titles.set(point, title.textContent);
    title.remove();
    return point;
  });
  const visible = () => points.filter(point => point.closest('g.series')?.style.display !== 'none');
  const nearest = event => {
    let best = [Infinity, null];
    for (const point of visible()) {
      const at = point.getBoundingClientRect();
      const away = (low, high, x) => (x < low ? low - x : x > high ? x - high : 0);
      const far = Math.hypot(away(at.left, at.right, event.clientX), away(at.top, at.bottom, event.clientY));
      if (far < best[0]) best = [far, point];
    }
    return best[0] < 60 ? best[1] : null;
  };
  svg.addEventListener('pointermove', event => show(nearest(event)));
  svg.addEventListener('pointerleave', () => show(null));
  if (!points.length) continue;
  svg.tabIndex = 0;
  svg.setAttribute('aria-description', `${points.length} points; arrow keys read them`);
  svg.addEventListener('blur', () => show(null));
  svg.addEventListener('keydown', event => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') show(null);
    if (!step) return;
    event.preventDefault();
    const list = visible();
    const at = list.indexOf(marked);
    show(list[at < 0 ? (step < 0 ? list.length - 1 : 0) : (at + step + list.length) % list.length] ?? null);
  });
}

for (const figure of document.querySelectorAll('figure')) {
  for (const entry of figure.querySelectorAll('.legend li')) {
    const flip = button('', () => {
      const off = entry.classList.toggle('off');
      flip.setAttribute('aria-pressed', !off);
      show(null);
      for (const series of figure.querySelectorAll('g.series'))
        if (series.dataset.series === entry.dataset.series) series.style.display = off ? 'none' : '';
    });
    flip.title = 'hide or show this curve';
    flip.setAttribute('aria-pressed', true);
    flip.append(...entry.childNodes);
    entry.append(flip);
  }
  const name = figure.dataset.file;
  const svg = button('Copy SVG', () => copy(svg, `${name}.svg`, plain(drawing(figure).text)));
  const png = button('Copy PNG', async () => copy(png, `${name}.png`, await picture(figure)));
  figure.append(made('div', { className: 'tools' }, svg, png));
}

// Of figures that differ in their swept key, the reader chooses one.
for (const group of document.querySelectorAll('.pair, .group')) {
  const figures = [...group.querySelectorAll('figure[data-x]')];
  if (figures.length < 2) continue;
  const choice = made('select', {}, ...figures.map(figure => made('option', { textContent: figure.dataset.x })));
  const pick = () => figures.forEach((figure, i) => { figure.hidden = i !== choice.selectedIndex; });
  choice.addEventListener('change', pick);
  group.prepend(made('label', { className: 'choice', textContent: 'Swept key: ' }, choice));
  pick();
}

const symbols = { '\\': '\\textbackslash{}', '±': '$\\pm$', '−': '$-$', '–': '--', '★': '$\\star$', '☆': '$\\circ$', '†': '\\dag{}',
  'ε': '$\\varepsilon$', 'δ': '$\\delta$', '·': '$\\cdot$', '²': '$^2$', '…': '\\dots{}', '~': '\\~{}', '^': '\\^{}' };
const tex = text => text.trim().replace(/[&%$#_{}]|[\\±−–★☆†εδ·²…~^]/g, c => symbols[c] || '\\' + c);
// An apostrophe disables what a spreadsheet runs as a formula.
const csv = text => {
  const safe = text.trim().replace(/^[=+\-@]/, "'$&");
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
const value = cell => { const found = parseFloat(cell.textContent.replaceAll('−', '-')); return Number.isFinite(found) ? found : null; };
for (const table of document.querySelectorAll('table.stack')) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    let up = false;
    head.classList.add('sortable');
    head.tabIndex = 0;
    const sort = () => {
      up = !up;
      const rows = [...table.tBodies[0].rows];
      rows.sort((left, right) => {
        const [a, b] = [left.cells[column], right.cells[column]];
        const [x, y] = [value(a), value(b)];
        const order = x !== null && y !== null ? x - y : a.textContent.localeCompare(b.textContent);
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows);
      heads.forEach(other => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    };
    head.addEventListener('click', sort);
    head.addEventListener('keydown', event => { if (event.key === 'Enter') sort(); });
  });
  const rows = () => [table.tHead.rows[0], ...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent));
  const comma = () => rows().map(row => row.map(csv).join(',') + '\n').join('');
  const latex = () => {
    const [head, ...body] = rows().map(row => row.map(tex).join(' & ') + ' \\\\');
    const columns = heads.map(head => (head.classList.contains('n') ? 'r' : 'l')).join('');
    return [`\\begin{tabular}{${columns}}`, '\\toprule', head, '\\midrule', ...body, '\\bottomrule', '\\end{tabular}', ''].join('\n');
  };
  const asCsv = button('Copy as CSV', () => copy(asCsv, 'table.csv', plain(comma())));
  const asTex = button('Copy as LaTeX', () => copy(asTex, 'table.tex', plain(latex())));
  table.parentElement.after(made('div', { className: 'tools' }, asCsv, asTex));
}
