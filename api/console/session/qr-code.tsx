import qrcode from 'qrcode-generator';

/** The light margin that readers need on each side, in modules. */
const MARGIN = 4;
/** More than any address of a second factor: a longer one has no code, and its key is typed. */
const MAX_LENGTH = 2_000;

/**
 * A text as a QR code, drawn inside of the page: nothing is loaded, and the text goes nowhere. It is dark on white in
 * both themes, since many cameras read nothing else.
 */
export function QrCode({ text, label }: { text: string; label: string }) {
  if (text.length > MAX_LENGTH) return null;
  const code = qrcode(0, 'M');
  code.addData(text);
  code.make();
  const count = code.getModuleCount();
  const side = count + 2 * MARGIN;
  const rows = Array.from({ length: count }, (_, row) => row);
  const dark = rows.flatMap((row) =>
    rows.flatMap((column) => (code.isDark(row, column) ? `M${column + MARGIN} ${row + MARGIN}h1v1h-1z` : [])),
  );
  return (
    <svg class="qr-code" role="img" aria-label={label} viewBox={`0 0 ${side} ${side}`} shape-rendering="crispEdges">
      <path fill="#fff" d={`M0 0h${side}v${side}h-${side}z`} />
      <path fill="#000" d={dark.join('')} />
    </svg>
  );
}
