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
import type { PictureTheme } from '../../../activities/html/picture-theme.js';
import { Picture } from '../../../activities/html/picture.js';
import { renderSvg } from '../../../activities/html/render.js';
import type { DrawableChart } from './chart-parts.js';
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

/** An element of the chart library's painter. */
interface Drawn {
  tag: string;
  attrs: Record<string, string | number | boolean | undefined>;
  children?: Drawn[];
  text?: string;
}
interface SvgPainter {
  renderToVNode: (options: { animation: boolean; compress: boolean; useViewBox: boolean }) => Drawn;
}

/** A plot as SVG. The same plot gives the same image. */
export function PlotPicture({ of: chart, theme }: { of: DrawableChart; theme?: PictureTheme | undefined }) {
  const { title, description, width, height } = chart;
  const id = `p${createHash('sha256')
    .update(title + description)
    .digest('hex')
    .slice(0, 8)}`;
  return (
    <Picture id={id} title={title} description={description} width={width} height={height} theme={theme}>
      {drawn(chart).map((child) => element(child, id))}
    </Picture>
  );
}

/** A plot as a file of its own. */
export const svgOf = (chart: DrawableChart, theme?: PictureTheme): string =>
  renderSvg(<PlotPicture of={chart} theme={theme} />);

/** The chart's elements before serialization: they are serialized like the rest of the page. */
function drawn({ width, height, option }: DrawableChart): Drawn[] {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily: FONT_NAMES }, ...option });
    const painter = chart.getZr().painter as unknown as SvgPainter;
    // Without hover styles and their classes.
    return painter.renderToVNode({ animation: false, compress: true, useViewBox: true }).children ?? [];
  } finally {
    chart.dispose();
  }
}

const element = ({ tag, attrs, text, children = [] }: Drawn, id: string): VNode =>
  h(tag, attributes(attrs, id), text, ...children.map((child) => element(child, id)));

/**
 * The painter numbers its charts from the start of the process: repeated ids of a page would refer to another plot.
 * Series numbers are for scripts. Empty attributes are omitted.
 */
function attributes(attrs: Drawn['attrs'], id: string): Drawn['attrs'] {
  const kept: Drawn['attrs'] = {};
  for (const [name, value] of Object.entries(attrs)) {
    if (value === '' || name === 'class' || name.startsWith('ecmeta_')) continue;
    kept[name] = typeof value === 'string' ? value.replaceAll(/\bzr\d+-/g, `${id}-`) : value;
  }
  return kept;
}
