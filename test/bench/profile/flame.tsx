import type { Frame } from './functions.js';
import { renderSvg } from '../../../activities/html/render.js';

const WIDTH = 1_200,
  ROW = 17;
/** Narrower ones are left out: nobody could read them. */
const MIN_WIDTH = 1.5;
const LETTER = 6.3;
const COLOURS = { ours: '#d9733c', package: '#d8a23a', engine: '#8a9bb0' };

interface Box {
  x: number;
  depth: number;
  width: number;
  frame: Frame;
}

/** A flame graph as a file: widths are processor time, a function stands on the one that called it. */
export function flameGraph(root: Frame, title: string, per: number): string {
  const boxes: Box[] = [];
  const place = (frame: Frame, x: number, depth: number): void => {
    const width = (frame.total / root.total) * WIDTH;
    if (width < MIN_WIDTH) return;
    boxes.push({ x, depth, width, frame });
    let at = x;
    for (const child of [...frame.children].sort((a, b) => b.total - a.total)) {
      place(child, at, depth + 1);
      at += (child.total / root.total) * WIDTH;
    }
  };
  place(root, 0, 0);
  const deepest = Math.max(...boxes.map(({ depth }) => depth));
  const height = (deepest + 1) * ROW + 34;
  return renderSvg(
    <svg xmlns="http://www.w3.org/2000/svg" viewBox={`0 0 ${WIDTH} ${height}`} width={WIDTH} height={height} role="img">
      <title>{title}</title>
      <rect width={WIDTH} height={height} fill="#ffffff" />
      <text x={8} y={20} font-family="system-ui, sans-serif" font-size={14} fill="#1d2530">
        {title}
      </text>
      {boxes.map(({ x, depth, width, frame }) => {
        const y = height - (depth + 1) * ROW;
        const label = `${frame.name} (${frame.place})`;
        const letters = Math.floor((width - 6) / LETTER);
        return (
          <g>
            <title>{`${label}: ${(frame.total / per).toFixed(2)} ms`}</title>
            <rect
              x={x.toFixed(1)}
              y={y}
              width={Math.max(0.5, width - 0.5).toFixed(1)}
              height={ROW - 1}
              fill={colourOf(frame)}
            />
            {letters >= 4 && (
              <text
                x={(x + 3).toFixed(1)}
                y={y + 12}
                font-family="ui-monospace, monospace"
                font-size={10.5}
                fill="#1d2530"
              >
                {label.length > letters ? `${label.slice(0, letters - 1)}…` : label}
              </text>
            )}
          </g>
        );
      })}
    </svg>,
  );
}

function colourOf({ place }: Frame): string {
  if (place === 'engine' || place.startsWith('node:')) return COLOURS.engine;
  return /^(api|activities|workflows|db)\//.test(place) ? COLOURS.ours : COLOURS.package;
}
