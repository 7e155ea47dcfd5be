'use strict';
const WORDS = {
  en: {
    title: 'Your study',
    welcome: 'This link opens your page of the study, once.',
    enter: 'Open my page',
    next: 'Next visit',
    visits: 'All visits',
    data: 'Your data',
    messages: 'Messages about visits',
    email: 'By e-mail',
    sms: 'By text message',
    push: 'On my device',
    leave: 'Log out',
    none: 'No visit is planned at the moment.',
    open: 'Open now, until {close}',
    planned: 'Planned for {target}',
    window: 'Possible from {open} to {close}',
    scheduled: 'planned',
    'state-open': 'open now',
    completed: 'done',
    missed: 'missed',
    well: 'Everything has been passed on.',
    stuck: 'Something has not been passed on yet. The study team knows; you need not do anything.',
    saved: 'Saved.',
    gone: 'You are logged out. A new link opens this page again.',
    closed: 'This link was used already or is too old. Please ask the study team for a new one.',
    away: 'The service is not reached at the moment: please try again.',
    devices: 'Send messages to this device',
    'devices-not': 'No longer send messages to this device',
    device: 'Messages about visits come to this device now.',
    'device-not': 'This device gets no messages any more.',
    refused: 'Your browser does not allow messages of this page. You can change that in its settings.',
    deviceless: 'This device could not be registered: please try again later.',
    whom: 'Whose page',
    results: 'Results',
    nothing: 'There are no results yet.',
    more: 'Show earlier results',
    session: 'Session',
    ms: '{n} ms',
    meaning: 'The study team tells you what they mean.',
  },
  de: {
    title: 'Ihre Studie',
    welcome: 'Dieser Link öffnet Ihre Seite der Studie, ein Mal.',
    enter: 'Meine Seite öffnen',
    next: 'Nächster Termin',
    visits: 'Alle Termine',
    data: 'Ihre Daten',
    messages: 'Nachrichten zu Terminen',
    email: 'Per E-Mail',
    sms: 'Per SMS',
    push: 'Auf meinem Gerät',
    leave: 'Abmelden',
    none: 'Zurzeit ist kein Termin geplant.',
    open: 'Jetzt möglich, bis {close}',
    planned: 'Geplant für {target}',
    window: 'Möglich vom {open} bis {close}',
    scheduled: 'geplant',
    'state-open': 'jetzt möglich',
    completed: 'erledigt',
    missed: 'versäumt',
    well: 'Alles ist weitergegeben.',
    stuck: 'Etwas ist noch nicht weitergegeben. Das Studienteam weiß davon; Sie müssen nichts tun.',
    saved: 'Gespeichert.',
    gone: 'Sie sind abgemeldet. Ein neuer Link öffnet diese Seite wieder.',
    closed: 'Dieser Link wurde schon benutzt oder ist zu alt. Bitte fragen Sie das Studienteam nach einem neuen.',
    away: 'Der Dienst ist gerade nicht erreichbar: bitte noch einmal versuchen.',
    devices: 'Nachrichten an dieses Gerät schicken',
    'devices-not': 'Keine Nachrichten mehr an dieses Gerät',
    device: 'Nachrichten zu Terminen kommen nun auf dieses Gerät.',
    'device-not': 'Dieses Gerät bekommt keine Nachrichten mehr.',
    refused: 'Ihr Browser erlaubt keine Nachrichten dieser Seite. In seinen Einstellungen lässt sich das ändern.',
    deviceless: 'Dieses Gerät konnte nicht angemeldet werden: bitte später noch einmal versuchen.',
    whom: 'Wessen Seite',
    results: 'Ergebnisse',
    nothing: 'Es gibt noch keine Ergebnisse.',
    more: 'Frühere Ergebnisse zeigen',
    session: 'Sitzung',
    ms: '{n} ms',
    meaning: 'Was sie bedeuten, sagt Ihnen das Studienteam.',
  },
  es: {
    title: 'Su estudio',
    welcome: 'Este enlace abre su página del estudio, una sola vez.',
    enter: 'Abrir mi página',
    next: 'Próxima visita',
    visits: 'Todas las visitas',
    data: 'Sus datos',
    messages: 'Mensajes sobre visitas',
    email: 'Por correo electrónico',
    sms: 'Por SMS',
    push: 'En mi dispositivo',
    leave: 'Cerrar sesión',
    none: 'No hay ninguna visita prevista por ahora.',
    open: 'Disponible ahora, hasta el {close}',
    planned: 'Prevista para el {target}',
    window: 'Posible del {open} al {close}',
    scheduled: 'prevista',
    'state-open': 'disponible ahora',
    completed: 'hecha',
    missed: 'no realizada',
    well: 'Todo se ha transmitido.',
    stuck: 'Algo no se ha transmitido todavía. El equipo del estudio lo sabe; no tiene que hacer nada.',
    saved: 'Guardado.',
    gone: 'Ha cerrado la sesión. Un nuevo enlace abre de nuevo esta página.',
    closed: 'Este enlace ya se usó o ha caducado. Pida uno nuevo al equipo del estudio.',
    away: 'El servicio no responde en este momento: inténtelo de nuevo.',
    devices: 'Enviar mensajes a este dispositivo',
    'devices-not': 'No enviar más mensajes a este dispositivo',
    device: 'Los mensajes sobre visitas llegan ahora a este dispositivo.',
    'device-not': 'Este dispositivo ya no recibe mensajes.',
    refused: 'Su navegador no permite mensajes de esta página. Puede cambiarlo en sus ajustes.',
    deviceless: 'No se pudo registrar este dispositivo: inténtelo de nuevo más tarde.',
    whom: 'La página de',
    results: 'Resultados',
    nothing: 'Todavía no hay resultados.',
    more: 'Mostrar resultados anteriores',
    session: 'Sesión',
    ms: '{n} ms',
    meaning: 'El equipo del estudio le explica qué significan.',
  },
};

/**
 * Tasks and what they measure. What is not named here is of the study's own making: its title there, else its name in
 * words.
 */
const NAMES = {
  en: {
    reaction_time: 'Reaction time',
    n_back: 'N-back',
    stroop: 'Stroop',
    flanker: 'Flanker',
    trail_making: 'Trail making',
    digit_span: 'Digit span',
    symbol_search: 'Symbol search',
    continuous_performance: 'Continuous performance',
    custom: 'Task of the study',
    mean_rt: 'Reaction time, mean',
    median_rt: 'Reaction time, median',
    sd_rt: 'Reaction time, spread',
    accuracy: 'Correct',
    total_trials: 'Trials',
    lapses: 'Lapses',
    hits: 'Hits',
    false_alarms: 'False alarms',
    d_prime: 'Sensitivity (d′)',
    interference: 'Interference',
    completion_time: 'Time taken',
    errors: 'Errors',
    max_span: 'Longest span',
    omissions: 'Omissions',
    commissions: 'Commissions',
  },
  de: {
    reaction_time: 'Reaktionszeit',
    n_back: 'N-back',
    stroop: 'Stroop',
    flanker: 'Flanker',
    trail_making: 'Linien ziehen',
    digit_span: 'Zahlenspanne',
    symbol_search: 'Symbolsuche',
    continuous_performance: 'Daueraufmerksamkeit',
    custom: 'Aufgabe der Studie',
    mean_rt: 'Reaktionszeit, Mittel',
    median_rt: 'Reaktionszeit, Median',
    sd_rt: 'Reaktionszeit, Streuung',
    accuracy: 'Richtig',
    total_trials: 'Durchgänge',
    lapses: 'Aussetzer',
    hits: 'Treffer',
    false_alarms: 'Fehlalarme',
    d_prime: 'Trennschärfe (d′)',
    interference: 'Interferenz',
    completion_time: 'Benötigte Zeit',
    errors: 'Fehler',
    max_span: 'Längste Spanne',
    omissions: 'Auslassungen',
    commissions: 'Falsche Antworten',
  },
  es: {
    reaction_time: 'Tiempo de reacción',
    n_back: 'N-back',
    stroop: 'Stroop',
    flanker: 'Flancos',
    trail_making: 'Trazado',
    digit_span: 'Dígitos',
    symbol_search: 'Búsqueda de símbolos',
    continuous_performance: 'Atención sostenida',
    custom: 'Tarea del estudio',
    mean_rt: 'Tiempo de reacción, media',
    median_rt: 'Tiempo de reacción, mediana',
    sd_rt: 'Tiempo de reacción, dispersión',
    accuracy: 'Aciertos',
    total_trials: 'Ensayos',
    lapses: 'Lapsos',
    hits: 'Detecciones',
    false_alarms: 'Falsas alarmas',
    d_prime: 'Sensibilidad (d′)',
    interference: 'Interferencia',
    completion_time: 'Tiempo empleado',
    errors: 'Errores',
    max_span: 'Serie más larga',
    omissions: 'Omisiones',
    commissions: 'Respuestas erróneas',
  },
};

const token = new URLSearchParams(location.search).get('token');
// Out of the address bar and the history: it must not be read over a shoulder or sent on.
if (token) history.replaceState(null, '', location.pathname);

let language = 'en';
/** For whom the page may ask, and for whom it does: a caregiver chooses. */
let people = [];
let about = sessionStorage.getItem('about');
const at = (id) => document.getElementById(id);
const word = (key, values = {}) => WORDS[language][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
const say = (key) => {
  at('said').textContent = key ? word(key) : '';
};
const show = (id) => {
  for (const one of ['door', 'inside']) at(one).hidden = one !== id;
};

function speak(tag) {
  const primary = String(tag || 'en')
    .toLowerCase()
    .split(/[-_]/)[0];
  language = primary in WORDS ? primary : 'en';
  document.documentElement.lang = language;
  document.title = word('title');
  for (const element of document.querySelectorAll('[data-say]')) element.textContent = word(element.dataset.say);
}

/** A calendar date in words; it belongs to no zone, so none may move it. */
const day = (date) =>
  new Intl.DateTimeFormat(language, {
    weekday: 'short',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(new Date(`${date}T00:00:00Z`));

async function ask(method, path, body, whom = about) {
  const answer = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: {
      'X-Portal-CSRF': '1',
      ...(whom && { 'X-Participant-ID': whom }),
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (answer.status === 401) throw new Error('closed');
  // What the study keeps to itself is no fault.
  if (answer.status === 403 && (await answer.clone().json()).code === 'RESULTS_NOT_SHARED') return undefined;
  if (!answer.ok) throw new Error('away');
  return answer.status === 204 ? undefined : answer.json();
}

/** Runs what a person asked for, and says in words what came of it. */
async function trying(work) {
  say('');
  try {
    await work();
  } catch (fault) {
    say(fault.message === 'closed' ? 'closed' : 'away');
    if (fault.message === 'closed') show('');
  }
}

const line = (text, className) =>
  Object.assign(document.createElement('p'), { textContent: text, className: className || '' });
const stateOf = (visit) => word(visit.status === 'open' ? 'state-open' : visit.status);
const datesOf = ({ target_date, window_open, window_close }) => ({
  target: day(target_date),
  open: day(window_open),
  close: day(window_close),
});

async function allVisits() {
  const items = [];
  for (;;) {
    const page = await ask('GET', `/api/portal/visits?limit=500&skip=${items.length}`);
    items.push(...page.items);
    if (items.length >= page.total || page.items.length === 0) return items;
  }
}

/** Push messages to this browser: only where it can, and the service has a key for them. */
const canPush = 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;
const bytesOf = (base64url) =>
  Uint8Array.from(atob(base64url.replace(/-/g, '+').replace(/_/g, '/')), (letter) => letter.charCodeAt(0));
const worker = () =>
  navigator.serviceWorker.register('/portal/worker.js', { scope: '/portal' }).then(() => navigator.serviceWorker.ready);

/** Shows what the button would do next. */
async function offerDevice() {
  const button = at('device');
  button.hidden = true;
  if (!canPush) return;
  const known = await navigator.serviceWorker.getRegistration('/portal');
  const subscription = known && (await known.pushManager.getSubscription());
  if (!subscription && !(await fetch('/api/notifications/web-push-key')).ok) return;
  button.textContent = word(subscription ? 'devices-not' : 'devices');
  button.hidden = false;
}

async function switchDevice() {
  if ((await Notification.requestPermission()) !== 'granted') return 'refused';
  try {
    const { pushManager } = await worker();
    const subscription = await pushManager.getSubscription();
    if (subscription) {
      // Its push service says so at the next message, and the service forgets it then.
      await subscription.unsubscribe();
      return 'device-not';
    }
    const { public_key: key } = await ask('GET', '/api/notifications/web-push-key');
    const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(key) });
    for (const { id } of people)
      await ask('POST', '/api/notifications/register', { platform: 'web', token: JSON.stringify(made) }, id);
    return 'device';
  } catch (fault) {
    // Of the browser's push service, which this page cannot mend.
    if (fault instanceof DOMException) return 'deviceless';
    throw fault;
  }
}

/** A number as a person reads it: shares as percent, reaction times with their unit. */
function measured(metric, value) {
  if (metric === 'accuracy' && value >= 0 && value <= 1)
    return new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 0 }).format(value);
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: metric.endsWith('_rt') ? 0 : 2 }).format(
    value,
  );
  return metric.endsWith('_rt') ? word('ms', { n: number }) : number;
}
/** What is called by no title: a name such as `own_measure` or `ownMeasure` in words, any other as it is. */
const inWords = (key) => {
  if (!/^[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*$/.test(key)) return key;
  const words = key
    .replaceAll('_', ' ')
    .replace(/([a-z0-9])([A-Z][a-z])/g, (_, end, start) => `${end} ${start.toLowerCase()}`);
  return words[0].toLocaleUpperCase(language) + words.slice(1);
};
/** By the study's own title, else as this page calls it. */
const nameOf = (key, titles = {}) =>
  Object.hasOwn(titles, key) ? titles[key] : Object.hasOwn(NAMES[language], key) ? NAMES[language][key] : inWords(key);

function cell(kind, text, scope) {
  const made = Object.assign(document.createElement(kind), { textContent: text });
  if (scope) made.scope = scope;
  return made;
}

function taskTable({ task, title, metrics, metric_titles: titles }) {
  const table = document.createElement('table');
  table.append(cell('caption', title || nameOf(task)));
  const rows = Object.entries(metrics)
    .map(([metric, value]) => [nameOf(metric, titles), metric, value])
    .sort(([a], [b]) => a.localeCompare(b, language));
  for (const [name, metric, value] of rows) {
    const row = table.insertRow();
    row.append(cell('th', name, 'row'), cell('td', measured(metric, value)));
  }
  return table;
}

const RESULTS_AT_ONCE = 10;
let shown = 0;
/** What was asked for a person that was chosen before is not shown with another's. */
let turn = 0;

const resultsFrom = (skip) => ask('GET', `/api/portal/results?limit=${RESULTS_AT_ONCE}&skip=${skip}`);

async function moreResults() {
  const [mine, from] = [turn, shown];
  const page = await resultsFrom(from);
  if (mine === turn && from === shown) addResults(page);
}

/** Adds results to those that are shown; the part is not there where the study keeps them to itself. */
function addResults(page) {
  at('results').hidden = !page;
  if (!page) return;
  if (page.total === 0) at('sessions').append(line(word('nothing')));
  else if (shown === 0) at('sessions').append(line(word('meaning')));
  // Of an instant the day is that of who reads it.
  const when = new Intl.DateTimeFormat(language, { dateStyle: 'full' });
  for (const { visit_name: visit, completed_at: done, tasks } of page.items)
    at('sessions').append(
      cell('h3', visit || word('session')),
      line(when.format(new Date(done))),
      ...tasks.map(taskTable),
    );
  shown += page.items.length;
  at('more').hidden = shown >= page.total || page.items.length === 0;
}

/** Whom the page is about: who cares for several chooses, and finds the choice again. */
async function choosePerson() {
  const known = await ask('GET', '/api/portal/participants?limit=500', undefined, null);
  people = known.items;
  if (!people.some(({ id }) => id === about)) about = people[0].id;
  sessionStorage.setItem('about', about);
  speak(
    known.caregiver ? known.caregiver.preferred_language || people[0].preferred_language : people[0].preferred_language,
  );
  at('whom').hidden = people.length < 2;
  at('person').replaceChildren(
    ...people.map(
      ({ id, participant_code: code, relationship }) =>
        new Option(relationship ? `${code} (${relationship})` : code, id, false, id === about),
    ),
  );
}

async function enterPage() {
  turn += 1;
  const mine = turn;
  await choosePerson();
  const [visits, status, channels, results] = await Promise.all([
    allVisits(),
    ask('GET', '/api/portal/data-status'),
    ask('GET', '/api/portal/preferences'),
    resultsFrom(0),
  ]);
  if (mine !== turn) return;
  shown = 0;
  at('sessions').replaceChildren();
  addResults(results);
  const next = visits.find((visit) => visit.status === 'open') || visits.find((visit) => visit.status === 'scheduled');
  at('next').classList.toggle('now', Boolean(next) && next.status === 'open');
  at('next').replaceChildren(
    ...(next
      ? [
          line(next.name, 'name'),
          line(word(next.status === 'open' ? 'open' : 'planned', datesOf(next))),
          line(word('window', datesOf(next))),
        ]
      : [line(word('none'))]),
  );
  at('visits').replaceChildren(
    ...visits.map((visit) => {
      const item = document.createElement('li');
      const what = document.createElement('span');
      what.append(line(visit.name, 'name'), line(day(visit.target_date)));
      const state = document.createElement('span');
      state.className = 'state';
      state.textContent = stateOf(visit);
      item.append(what, state);
      return item;
    }),
  );
  at('data').textContent = word(status.has_failed_sync ? 'stuck' : 'well');
  for (const box of at('channels').querySelectorAll('input')) box.checked = channels[box.name];
  show('inside');
  await offerDevice();
}

at('enter').addEventListener('click', () =>
  trying(async () => {
    about = null;
    await ask('POST', '/api/portal/session', { token });
    await enterPage();
  }),
);
at('person').addEventListener('change', ({ target }) =>
  trying(async () => {
    about = target.value;
    sessionStorage.setItem('about', about);
    await enterPage();
  }),
);
at('more').addEventListener('click', () => trying(moreResults));
at('channels').addEventListener('change', ({ target }) =>
  trying(async () => {
    const mine = turn;
    target.disabled = true;
    try {
      await ask('PATCH', '/api/portal/preferences', { [target.name]: target.checked });
    } catch (fault) {
      // The tick says what holds, not what was wished; of another person by now, it was read anew.
      if (mine === turn) target.checked = !target.checked;
      throw fault;
    } finally {
      target.disabled = false;
    }
    say('saved');
  }),
);
at('device').addEventListener('click', () =>
  trying(async () => {
    const said = await switchDevice();
    await offerDevice();
    say(said);
  }),
);
at('leave').addEventListener('click', () =>
  trying(async () => {
    await ask('POST', '/api/portal/logout');
    about = null;
    sessionStorage.clear();
    show('');
    say('gone');
  }),
);

speak(navigator.language);
if (token) show('door');
else void trying(enterPage);
