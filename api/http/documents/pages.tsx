import { h } from 'preact';
import { HtmlDocument } from '../../../activities/html/html-document.js';

/** The contract's pages, around the packages' own content. */
export const TryPage = () => (
  <HtmlDocument
    language="en"
    title="Research Assessment Platform: API"
    head={
      <>
        <link rel="stylesheet" href="/docs/swagger-ui.css" />
        <link rel="icon" type="image/png" href="/docs/favicon-32x32.png" />
      </>
    }
  >
    <form id="login" aria-label="Login" style="max-width:1460px;margin:1rem auto 0;padding:0 20px;font:1rem sans-serif">
      <input name="email" type="email" placeholder="Email" aria-label="Email" autocomplete="username" />{' '}
      <input
        name="password"
        type="password"
        placeholder="Password"
        aria-label="Password"
        autocomplete="current-password"
      />{' '}
      <input name="code" placeholder="Code" aria-label="Code" inputMode="numeric" autocomplete="one-time-code" hidden />{' '}
      <button>Log in</button> <span id="said" role="status" aria-live="polite"></span>
    </form>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </HtmlDocument>
);

/** The element that the reference's script renders into. */
export const ReferencePage = () => (
  <HtmlDocument language="en" title="Research Assessment Platform: API reference">
    <Redoc spec-url="/openapi.json" disable-search="true" />
    <script src="/redoc/redoc.standalone.js"></script>
  </HtmlDocument>
);

/** A custom element, unknown to Preact's types. */
const Redoc = (attributes: { 'spec-url': string; 'disable-search': string }) => h('redoc', attributes);
