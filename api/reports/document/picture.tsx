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
import { h } from 'preact';
import type { VNode } from 'preact';
import { Picture } from '../../../activities/html/picture.js';
import { renderSvg } from '../../../activities/html/render.js';
import type { Chart } from './charts.js';
import { FONT_NAMES } from './fonts.js';

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

/** An element as the chart library's painter draws it. */
interface Drawn {
  tag: string;
  attrs: Record<string, string | number | boolean | undefined>;
  children?: Drawn[];
  text?: string;
}
interface SvgPainter {
  renderToVNode: (how: { animation: boolean; compress: boolean; useViewBox: boolean }) => Drawn;
}

/** A plot as a picture. The same plot gives the same picture. */
export function PlotPicture({ of: chart }: { of: Chart }) {
  const { title, description, width, height } = chart;
  const id = `p${createHash('sha256')
    .update(title + description)
    .digest('hex')
    .slice(0, 8)}`;
  return (
    <Picture id={id} title={title} description={description} width={width} height={height}>
      {drawn(chart).map((child) => element(child, id))}
    </Picture>
  );
}

/** A plot as a file of its own. */
export const svgOf = (chart: Chart): string => renderSvg(<PlotPicture of={chart} />);

/** The chart's elements before they are text: each is written by the same hand as the rest of the page. */
function drawn({ width, height, option }: Chart): Drawn[] {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily: FONT_NAMES }, ...option });
    const painter = chart.getZr().painter as unknown as SvgPainter;
    // Without what is for pointers: hover styles and their classes.
    return painter.renderToVNode({ animation: false, compress: true, useViewBox: true }).children ?? [];
  } finally {
    chart.dispose();
  }
}

const element = ({ tag, attrs, text, children = [] }: Drawn, id: string): VNode =>
  h(tag, attributes(attrs, id), text, ...children.map((child) => element(child, id)));

/**
 * The painter numbers its charts from the start of the process: ids that a page repeats would point to another plot.
 * Series numbers are for scripts. What is empty says nothing.
 */
function attributes(attrs: Drawn['attrs'], id: string): Drawn['attrs'] {
  const kept: Drawn['attrs'] = {};
  for (const [name, value] of Object.entries(attrs)) {
    if (value === '' || name === 'class' || name.startsWith('ecmeta_')) continue;
    kept[name] = typeof value === 'string' ? value.replaceAll(/\bzr\d+-/g, `${id}-`) : value;
  }
  return kept;
}
