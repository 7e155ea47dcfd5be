import type { ComponentChildren } from 'preact';
import { HtmlDocument } from '../../../activities/html/html-document.js';
import { assets } from '../assets/assets.js';
import { entryOf, navigationFor } from '../navigation.js';
import { Form } from './form.js';
import { themes, useUi } from './ui.js';

/** The frame of every page: head, skip link, menu, the page's content. */
export function Document({ title, children }: { title: string; children?: ComponentChildren }) {
  const { words, language, theme, user, idleSeconds } = useUi();
  return (
    <HtmlDocument
      language={language}
      theme={theme}
      title={`${title} · ${words.product}`}
      head={
        <>
          <meta name="robots" content="noindex" />
          <meta name="color-scheme" content={theme === 'auto' ? 'light dark' : theme} />
          <meta name="htmx-config" content='{"includeIndicatorCSS":false,"history":false}' />
          <link rel="icon" href={assets.icon.href} type="image/svg+xml" />
          <link rel="stylesheet" href={assets.style.href} />
          <script src={assets.htmx.href} defer />
          <script src={assets.script.href} defer />
        </>
      }
      body={user && { 'data-idle': idleSeconds, 'data-user': user.id }}
    >
      <a class="skip" href="#content">
        {words.skip}
      </a>
      <header class="top">
        <a class="brand" href="/console">
          <img src={assets.icon.href} alt="" width={24} height={24} />
          <span>{words.product}</span>
        </a>
        {user && <Navigation />}
        <UserMenu />
      </header>
      {user && <IdleWarning />}
      <AwayWarning />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </HtmlDocument>
  );
}

/** The menu, whose counts refresh. */
export function Navigation() {
  const { words, user, path, counts } = useUi();
  const entries = user ? navigationFor(user.role) : [];
  const here = path.split('?')[0]!;
  const current = entryOf(here);
  const again = `/console/counts?at=${encodeURIComponent(here)}`;
  const known = Object.keys(counts).length > 0;
  return (
    <nav
      id="menu"
      aria-label={words.navigation.label}
      hx-get={again}
      hx-trigger={known ? 'every 60s' : 'load, every 60s'}
      hx-swap="outerHTML"
    >
      <ul>
        {entries.map((entry) => (
          <li key={entry.path}>
            <a href={entry.path} {...(entry === current && { 'aria-current': 'page' })}>
              {entry.label(words)}
              {(counts[entry.path] ?? 0) > 0 && (
                <>
                  {' '}
                  <span class="count">
                    {counts[entry.path]}
                    <span class="spoken"> {words.navigation.waiting}</span>
                  </span>
                </>
              )}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Language, theme, logout. It works without a script. */
function UserMenu() {
  const { words, user, theme, language } = useUi();
  return (
    <details class="user-menu">
      <summary>{user ? user.name : words.menu.settings}</summary>
      <div class="menu-panel">
        {user && (
          <p class="quiet">
            {user.email}
            <br />
            {words.roles[user.role]}
          </p>
        )}
        <Form action="/console/preferences" class="choices">
          <fieldset>
            <legend>{words.menu.theme}</legend>
            {themes.map((one) => (
              <button key={one} name="theme" value={one} class="small" aria-pressed={one === theme}>
                {words.menu.themes[one]}
              </button>
            ))}
          </fieldset>
          <fieldset>
            <legend>{words.menu.language}</legend>
            {(['en', 'de'] as const).map((one) => (
              <button key={one} name="language" value={one} class="small" lang={one} aria-pressed={one === language}>
                {words.menu.languages[one]}
              </button>
            ))}
          </fieldset>
        </Form>
        {user && (
          <Form action="/console/logout" class="choices">
            <button class="small">{words.menu.logout}</button>
            <button class="small" name="everywhere" value="1">
              {words.menu.logoutEverywhere}
            </button>
          </Form>
        )}
      </div>
    </details>
  );
}

/** The script shows it where a form could not be sent. */
function AwayWarning() {
  const { words } = useUi();
  return (
    <div id="away" class="banner">
      <p>{words.idle.away}</p>
    </div>
  );
}

/** The script shows it before the login expires. */
function IdleWarning() {
  const { words } = useUi();
  return (
    <div
      id="idle"
      role="status"
      aria-live="polite"
      class="banner"
      data-warn={words.idle.warn}
      data-over={words.idle.over}
    >
      <p hidden></p>
      <button class="small" hidden>
        {words.idle.stay}
      </button>
      <a href="/console/login" target="_blank" rel="noopener" hidden>
        {words.idle.login}
      </a>
    </div>
  );
}
