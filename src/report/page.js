// Conveniences of the page, which is whole without them: hide curves, sort tables, copy a table as LaTeX.
'use strict';
for (const figure of document.querySelectorAll('figure')) {
  for (const entry of figure.querySelectorAll('.legend li')) {
    entry.tabIndex = 0;
    entry.setAttribute('role', 'button');
    entry.title = 'hide or show this curve';
    const flip = () => {
      const off = entry.classList.toggle('off');
      entry.setAttribute('aria-pressed', off);
      for (const series of figure.querySelectorAll('g.series'))
        if (series.dataset.series === entry.dataset.series) series.style.display = off ? 'none' : '';
    };
    entry.addEventListener('click', flip);
    entry.addEventListener('keydown', event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); flip(); } });
  }
}
const symbols = { '\\': '\\textbackslash{}', '±': '$\\pm$', '−': '$-$', '–': '--', '★': '$\\star$', '☆': '$\\circ$', '†': '\\dag{}',
  'ε': '$\\varepsilon$', 'δ': '$\\delta$', '·': '$\\cdot$', '²': '$^2$', '…': '\\dots{}', '~': '\\~{}', '^': '\\^{}' };
const tex = text => text.trim().replace(/[&%$#_{}]|[\\±−–★☆†εδ·²…~^]/g, c => symbols[c] || '\\' + c);
const value = cell => { const found = parseFloat(cell.textContent.replace('−', '-')); return Number.isFinite(found) ? found : null; };
for (const table of document.querySelectorAll('table.stack')) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    let up = false;
    head.classList.add('sortable');
    head.addEventListener('click', () => {
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
    });
  });
  const copy = document.createElement('button');
  copy.type = 'button';
  copy.textContent = 'Copy as LaTeX';
  copy.addEventListener('click', async () => {
    const line = row => [...row.cells].map(cell => tex(cell.textContent)).join(' & ') + ' \\\\';
    const columns = heads.map(head => head.classList.contains('n') ? 'r' : 'l').join('');
    const text = ['\\begin{tabular}{' + columns + '}', '\\toprule', line(table.tHead.rows[0]), '\\midrule',
      ...[...table.tBodies[0].rows].map(line), '\\bottomrule', '\\end{tabular}', ''].join('\n');
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = 'Copied';
    } catch {
      const shown = document.createElement('pre');
      shown.textContent = text;
      copy.replaceWith(shown);
    }
  });
  table.parentElement.after(copy);
}
