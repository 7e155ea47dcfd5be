import type { ComponentChildren } from 'preact';
import { HtmlDocument } from './html-document.js';
import { renderPage } from './render.js';
import { Style, pageStyle, smallPageCss } from './style.js';

const STYLE = pageStyle(smallPageCss);

/**
 * The Content-Security-Policy of a small page. Nothing is loaded.
 * @param formAction where its form, if it has one, may be sent
 */
export const smallPagePolicy = (formAction: "'self'" | "'none'"): string =>
  `default-src 'none'; style-src ${STYLE.source}; form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'`;

/** A page of its own with a title and little more, as HTML: nobody is logged in, and search engines pass it over. */
export const smallPage = (language: string, title: string, inside: ComponentChildren): string =>
  renderPage(
    <HtmlDocument
      language={language}
      title={title}
      head={
        <>
          <meta name="robots" content="noindex" />
          <Style of={STYLE} />
        </>
      }
    >
      <main>
        <h1>
          <bdi>{title}</bdi>
        </h1>
        {inside}
      </main>
    </HtmlDocument>,
  );
