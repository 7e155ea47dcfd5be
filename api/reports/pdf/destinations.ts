/**
 * The page numbers of a document's anchors in a PDF, counted from 1. It supports what the browser writes: uncompressed
 * objects, and named destinations in one dictionary.
 */
export function pagesOfAnchors(pdf: Buffer): Map<string, number> {
  const objects = new Map<string, string>();
  const text = pdf.toString('latin1');
  for (const [, id, body] of text.matchAll(/(?:^|\n)(\d+) 0 obj\s*(<<[\s\S]*?)(?:\nendobj|stream\r?\n)/g))
    objects.set(id!, body!);
  const catalog = [...objects.values()].find((body) => /\/Type \/Catalog\b/.test(body)) ?? '';
  const order = pagesUnder(referenced(catalog, 'Pages'), objects);
  const places = objects.get(referenced(catalog, 'Dests') ?? '') ?? '';
  const found = new Map<string, number>();
  for (const [, name, page] of places.matchAll(/\/([^\s/[\]<>()]+) \[(\d+) 0 R/g)) {
    const at = order.indexOf(page!);
    if (at >= 0) found.set(name!, at + 1);
  }
  return found;
}

const referenced = (body: string, key: string): string | undefined => new RegExp(`/${key} (\\d+) 0 R`).exec(body)?.[1];

/** The pages below a node of the page tree, in order. */
function pagesUnder(id: string | undefined, objects: ReadonlyMap<string, string>): string[] {
  const body = id === undefined ? undefined : objects.get(id);
  if (body === undefined) return [];
  const kids = /\/Type \/Pages\b/.test(body) ? /\/Kids \[([^\]]*)\]/.exec(body)?.[1] : undefined;
  return kids === undefined ? [id!] : [...kids.matchAll(/(\d+) 0 R/g)].flatMap(([, kid]) => pagesUnder(kid, objects));
}
