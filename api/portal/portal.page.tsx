import type { ComponentChildren } from 'preact';
import { HtmlDocument } from '../../activities/html/html-document.js';

/** The script fills in the text, in the participant's language; an element has its key (`data-say`). */
const Says = ({ word }: { word: string }) => <span data-say={word}></span>;

function Section({
  id,
  head,
  word,
  hidden = false,
  children,
}: {
  id?: string;
  head: string;
  word: string;
  hidden?: boolean;
  children: ComponentChildren;
}) {
  return (
    <section id={id} aria-labelledby={head} hidden={hidden}>
      <h2 id={head} data-say={word}></h2>
      {children}
    </section>
  );
}

function Channel({ name }: { name: string }) {
  return (
    <>
      <label>
        <input type="checkbox" name={name} /> <Says word={name} />
      </label>
      <p id={`no-${name}`} class="note" data-say={`no-${name}`} hidden></p>
    </>
  );
}

/** The entry to the page: the button of a link, or the form that requests a new one. */
const EntrySection = () => (
  <>
    <section id="door" hidden>
      <p data-say="welcome"></p>
      <label>
        <input id="remember" type="checkbox" /> <Says word="remember" />
      </label>
      <button id="enter" type="button" data-say="enter"></button>
    </section>
    <form id="again" hidden>
      <h2 data-say="again"></h2>
      <label for="address" data-say="address"></label>
      <input id="address" name="address" type="text" inputMode="email" autocomplete="email" maxLength={320} required />
      <button type="submit" data-say="send"></button>
    </form>
  </>
);

const Calendar = () => (
  <Section head="calendar-head" word="calendar">
    <button id="feed-make" type="button" class="quiet" data-say="feed"></button>
    <div id="feed" hidden>
      <p data-say="feed-is"></p>
      <label for="feed-url" class="note" data-say="feed-address"></label>
      <input id="feed-url" type="text" readonly />
      <a id="feed-open" class="button" data-say="feed-open"></a>
      <button id="feed-end" type="button" class="quiet" data-say="feed-end"></button>
    </div>
  </Section>
);

/** Without its script the page can show nothing else, and nobody's language is known. */
const NO_SCRIPT = {
  en: 'This page needs JavaScript. Please turn it on in your browser, or ask your study team.',
  de: 'Diese Seite braucht JavaScript. Bitte schalten Sie es im Browser ein, oder fragen Sie Ihr Studienteam.',
  es: 'Esta página necesita JavaScript. Actívelo en su navegador o pregunte a su equipo del estudio.',
  fr: 'Cette page a besoin de JavaScript. Activez-le dans votre navigateur ou demandez à votre équipe de l’étude.',
};

/** The participant's and the caregiver's page: an empty frame for the script. */
export const PortalPage = () => (
  <HtmlDocument
    language="en"
    title="Your study"
    head={
      <>
        <meta name="robots" content="noindex" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="/portal/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/portal/page.css" />
      </>
    }
  >
    <main>
      <h1 id="title" data-say="title" tabIndex={-1}>
        Your study
      </h1>
      <p id="said" role="status" aria-live="polite"></p>
      <noscript>
        {Object.entries(NO_SCRIPT).map(([language, says]) => (
          <p key={language} lang={language}>
            {says}
          </p>
        ))}
      </noscript>
      <EntrySection />
      <button id="retry" type="button" data-say="retry" hidden></button>
      <section id="inside" hidden>
        <label id="whom" hidden>
          <Says word="whom" /> <select id="person"></select>
        </label>
        <Section head="next-head" word="next">
          <div id="next"></div>
        </Section>
        <Section head="visits-head" word="visits">
          <ul id="visits"></ul>
        </Section>
        <Section id="results-way" head="data-head" word="data" hidden>
          <p id="data"></p>
        </Section>
        <Section id="results" head="results-head" word="results" hidden>
          <div id="sessions"></div>
          <button id="more" type="button" class="quiet" data-say="more" hidden></button>
        </Section>
        <fieldset id="channels">
          <legend data-say="messages"></legend>
          <Channel name="email" />
          <Channel name="sms" />
          <Channel name="push" />
          <button id="device" type="button" class="quiet" hidden></button>
        </fieldset>
        <Calendar />
        <Section head="questions-head" word="questions">
          <p id="contact"></p>
        </Section>
        <button id="leave" type="button" class="quiet" data-say="leave"></button>
      </section>
    </main>
    <script type="module" src="/portal/page.js"></script>
  </HtmlDocument>
);
