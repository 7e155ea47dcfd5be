import { createHash } from 'node:crypto';
import { BarChart, BoxplotChart, HeatmapChart, LineChart } from 'echarts/charts';
import {
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  TitleComponent,
  VisualMapComponent,
} from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { Chart } from './charts.js';
import { FONT_NAMES } from './fonts.js';
import { escapeHtml } from './markup.js';

use([
  BarChart,
  BoxplotChart,
  HeatmapChart,
  LineChart,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  TitleComponent,
  VisualMapComponent,
  SVGRenderer,
]);

/**
 * Draws a plot as SVG with a title and a description for those who do not see it. The same plot gives the same text.
 */
export function svgOf({ title, description, width, height, option }: Chart): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily: FONT_NAMES }, backgroundColor: '#ffffff', ...option });
    const id = `p${createHash('sha256')
      .update(title + description)
      .digest('hex')
      .slice(0, 8)}`;
    const drawn = chart.renderToSVGString();
    // The renderer numbers its charts from the start of the process: ids that a page repeats would point to another
    // plot. What it adds for pointers (hover styles, series numbers) is numbered so too and of no use in a picture.
    const named = drawn
      .replaceAll(/<style >[\s\S]*?<\/style>| (?:class|ecmeta_\w+)="[^"]*"/g, '')
      .replaceAll(/\bzr\d+-/g, `${id}-`);
    return named
      .replace(/^<svg /, `<svg role="img" aria-labelledby="${id}-title ${id}-desc" `)
      .replace(
        /^<svg [^>]*>/,
        (open) =>
          `${open}<title id="${id}-title">${escapeHtml(title)}</title><desc id="${id}-desc">${escapeHtml(description)}</desc>`,
      );
  } finally {
    chart.dispose();
  }
}
