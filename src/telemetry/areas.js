// Makes each chart of stacked areas on the page one to point at and to zoom into. Without a script the drawing stays.
(() => {
  const style = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
  const plots = [...document.querySelectorAll('script.areas')].map((source) => {
    const data = JSON.parse(source.textContent);
    const box = document.createElement('div');
    const legend = document.createElement('div');
    box.className = 'plot';
    legend.className = 'plot-legend';
    source.parentElement.classList.add('live');
    source.after(box, legend);
    const colours = () => data.colours.map((name) => style(name));
    const plot = new Dygraph(box, data.rows, {
      labels: [data.x, ...data.labels],
      xlabel: data.x, ylabel: data.y,
      stackedGraph: true, stepPlot: true, fillAlpha: 0.8, strokeWidth: 0.5,
      legend: 'always', labelsDiv: legend,
      legendFormatter: (shown) => {
        const text = (value) => Object.assign(document.createElement('span'), {textContent: value}).innerHTML;
        const rows = shown.series.slice().reverse().map((series) =>
          `<li><b style="background:${series.color}"></b>${text(series.label)}${
            series.y === undefined ? '' : `<i>${series.y.toPrecision(4)} ${text(data.y)}</i>`}</li>`);
        const at = shown.x === undefined ? 'Point for values, drag to zoom, double-click for all.' : `${data.x}: ${shown.x}`;
        return `<p>${text(at)}</p><ul>${rows.join('')}</ul>`;
      },
      colors: colours(), gridLineColor: style('--rule'), axisLineColor: style('--soft'),
      axes: {x: {axisLabelFormatter: (value) => `${value}`}, y: {axisLabelWidth: 44}},
    });
    return () => plot.updateOptions({
      colors: colours(), gridLineColor: style('--rule'), axisLineColor: style('--soft')});
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plots.forEach((draw) => draw()));
})();
