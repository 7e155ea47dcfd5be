/** What a file is instead of the kind that was asked for, by its first bytes, in words that complete a sentence. */
export function otherKindOf(bytes: Buffer): string | undefined {
  const begin = bytes
    .subarray(0, 512)
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart()
    .toLowerCase();
  if (begin.startsWith('%pdf-')) return 'a PDF document';
  // Programs name it .xls, and spreadsheet programs open it.
  if (/^(?:<\?xml[^>]*>\s*)?(?:<!--[^]*?-->\s*)?<(?:!doctype html|html|head|body|meta|style|table)\b/.test(begin))
    return 'a web page (HTML)';
  return undefined;
}
