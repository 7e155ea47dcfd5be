import type { ComponentChildren, VNode } from 'preact';
import { Fragment, h } from 'preact';
import { renderToString } from 'preact-render-to-string';

/** A whole page, from its `<Page>`. Every text and attribute in it is escaped. */
export const renderPage = <P>(page: VNode<P>): string => `<!doctype html>${renderToString(page)}`;

/** A part of a page. */
export const renderPart = (part: ComponentChildren): string => renderToString(h(Fragment, {}, part));

/** Characters that XML does not allow, but HTML does. */
// eslint-disable-next-line no-control-regex
const NO_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** An image as a file: SVG is XML, which is stricter than HTML about text. */
export const renderSvg = <P>(picture: VNode<P>): string =>
  renderToString(picture).replaceAll(NO_XML, '').replaceAll(']]>', ']]&gt;');
