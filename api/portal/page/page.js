import { bytesOf, cell, line, named, placed, taskTable, watched, waysTo } from './elements.js';
import { WORDS } from './words.js';

/** The key of the text to show while nobody is logged in. */
let shut = 'nolink';
const linked = new URLSearchParams(location.search).get('token')?.slice(0, 200); // A longer one opens nothing either.
// Out of the address bar and the history: it must not be read over a shoulder or sent on. Until it has opened, a page
// that is loaded again has it.
const keepToken = (token) => history.replaceState(token && { token }, '', location.pathname);
if (linked) keepToken(linked);
const token = history.state?.token;

let language = 'en';
/** For whom the page may ask, and for whom it does: a caregiver chooses. */
let people = [];
let caregiver;
let about = sessionStorage.getItem('about');
const at = (id) => document.getElementById(id);
const word = (key, values = {}) => WORDS[language][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
const say = (key, values) => {
  at('said').textContent = key ? word(key, values) : '';
};
const PARTS = ['door', 'again', 'retry', 'inside'];
const show = (id) => {
  const held = document.activeElement;
  for (const one of PARTS) at(one).hidden = one !== id;
  // A keyboard goes on from the top of what is shown, not from nowhere.
  if (held?.closest('[hidden]')) at('title').focus();
};

/** Speaks the first of these languages that the page has, else English. */
function speak(...tags) {
  const primaries = tags.map((tag) => /^[a-z]+/i.exec(tag)?.[0].toLowerCase());
  language = primaries.find((primary) => Object.hasOwn(WORDS, primary)) ?? 'en';
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

/** Whether the browser keeps a refresh token, which the page itself cannot see. */
const REMEMBERED = 'remembered';

/** Which link opened the browser's login: pressed again, it leads back to the page. It opens nothing any more. */
const OPENED = 'opened';

/** Exchanges it. One at a time in all windows of the browser: it is good once. */
function renewed() {
  const renew = async () => {
    const answer = await fetch('/api/portal/refresh', { method: 'POST', headers: { 'X-Portal-CSRF': '1' } });
    if (answer.status === 401) localStorage.removeItem(REMEMBERED);
    return answer.ok;
  };
  return navigator.locks ? navigator.locks.request('portal-refresh', renew) : renew();
}

async function ask(method, path, body, whom = about) {
  let answer = await sent(method, path, body, whom);
  if (answer.status === 401 && localStorage.getItem(REMEMBERED) && (await renewed()))
    answer = await sent(method, path, body, whom);
  const code = [401, 403].includes(answer.status) ? (await answer.clone().json()).code : undefined;
  if (code === 'PARTICIPANT_WITHDRAWN') throw new Error('withdrawn');
  const refused = { 401: 'closed', 422: 'unreadable', 429: 'often' }[answer.status];
  if (refused) throw new Error(refused);
  // Missing data, or data that the study does not share, are no fault.
  if (answer.status === 404 && method === 'GET') return undefined;
  if (answer.status === 404) throw new Error('outdated');
  if (code === 'RESULTS_NOT_SHARED') return undefined;
  if (!answer.ok) throw new Error('away');
  return answer.status === 204 ? undefined : answer.json();
}

const sent = (method, path, body, whom) =>
  fetch(path, {
    method,
    credentials: 'same-origin',
    headers: {
      'X-Portal-CSRF': '1',
      ...(whom && { 'X-Participant-ID': whom }),
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });

/** Runs what a person asked for, and says in words what came of it. */
async function trying(work) {
  say('');
  try {
    await watched(work, at('said'), () => say('moment'));
  } catch (fault) {
    if (fault.message === 'outdated') return trying(catchUp);
    const known = ['closed', 'unreadable', 'often', 'withdrawn'].includes(fault.message);
    say(known ? (fault.message === 'closed' ? shut : fault.message) : 'away');
    // After a withdrawal a new link would not help.
    if (['closed', 'withdrawn'].includes(fault.message)) {
      keepToken(null);
      show(fault.message === 'closed' && 'again');
    }
    // Nothing else on the page can be pressed.
    else if (PARTS.every((one) => at(one).hidden)) show('retry');
  }
}

/** What the page shows is not there any more: another tab, or the study team, was there first. */
async function catchUp() {
  const before = { about, caregiver, people };
  await enterPage();
  const left = before.people.find(({ id }) => id === before.about);
  if (left && about !== before.about && caregiver && caregiver === before.caregiver)
    say('unshown', { code: placed(left.participant_code) });
}

/** Pressed again before it is done, a button does nothing more: many people press twice. */
function once(work) {
  let underWay;
  return () => {
    underWay ??= trying(work).finally(() => (underWay = undefined));
  };
}
const onPress = (id, work) => at(id).addEventListener('click', once(work));

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
      // At the next message the push service reports the end, and this service removes the subscription.
      await subscription.unsubscribe();
      return 'device-not';
    }
    const { public_key: key } = await ask('GET', '/api/notifications/web-push-key');
    const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(key) });
    for (const { id } of people)
      await ask('POST', '/api/notifications/register', { platform: 'web', token: JSON.stringify(made) }, id);
    return 'device';
  } catch (fault) {
    // Of the browser's push service: this page cannot fix it.
    if (fault instanceof DOMException) return 'deviceless';
    throw fault;
  }
}

const RESULTS_AT_ONCE = 10;
/** The most that the service gives at once. */
const MAX_RESULTS = 500;
let shown = 0;
/** Number of the present choice of person: answers to requests of an earlier choice are dropped. */
let turn = 0;
/** How many preferences were sent. */
let saves = 0;

const resultsFrom = (skip, limit = RESULTS_AT_ONCE) => ask('GET', `/api/portal/results?limit=${limit}&skip=${skip}`);

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
      ...tasks.map((task) => taskTable(language, task)),
    );
  shown += page.items.length;
  at('more').hidden = shown >= page.total || page.items.length === 0;
}

/** Chooses the participant of the page. A caregiver of several chooses one; the choice is remembered. */
async function choosePerson() {
  const known = await ask('GET', '/api/portal/participants?limit=500', undefined, null);
  people = known.items;
  caregiver = known.caregiver?.id;
  if (!people.some(({ id }) => id === about)) about = people[0].id;
  sessionStorage.setItem('about', about);
  at('whom').hidden = people.length < 2;
  at('person').replaceChildren(
    ...people.map(
      ({ id, participant_code: code, relationship }) =>
        new Option(relationship ? `${placed(code)} (${placed(relationship)})` : code, id, false, id === about),
    ),
  );
}

/** The study by the name that participants know, whom to ask, and where results are, which is nothing for many. */
function showStudy({ language: chosen, study, results_passed_on: passed }) {
  speak(...(chosen ? [chosen] : navigator.languages));
  at('title').replaceChildren(named(study.name));
  document.title = study.name;
  const parts = waysTo(study.contact ?? {});
  at('contact').replaceChildren(
    ...(parts.length === 0
      ? [word('unnamed')]
      : [word('ask'), ...parts.flatMap((part, i) => (i === 0 ? [part] : [', ', part]))]),
  );
  const said = { sent: 'well', waiting: 'waiting', failed: 'stuck' }[passed];
  at('results-way').hidden = !said;
  at('data').textContent = said ? word(said) : '';
}

function showFeed(feed) {
  at('feed').hidden = !feed;
  at('feed-make').hidden = Boolean(feed);
  at('feed-url').value = feed ? feed.url : '';
  at('feed-open').href = feed ? feed.url.replace(/^https?:/, 'webcal:') : '';
}

async function enterPage() {
  turn += 1;
  const mine = turn;
  const before = { about, saves };
  await choosePerson();
  // Results that were shown stay so.
  const isSame = about === before.about;
  const many = isSame ? Math.min(MAX_RESULTS, Math.max(RESULTS_AT_ONCE, shown)) : RESULTS_AT_ONCE;
  const [visits, overview, channels, feed, results] = await Promise.all([
    allVisits(),
    ask('GET', '/api/portal/overview'),
    ask('GET', '/api/portal/preferences'),
    ask('GET', '/api/portal/calendar-feed'),
    resultsFrom(0, many),
  ]);
  if (mine !== turn) return;
  showStudy(overview);
  showFeed(feed);
  shown = 0;
  at('sessions').replaceChildren();
  addResults(results);
  const next = visits.find((visit) => visit.status === 'open') || visits.find((visit) => visit.status === 'scheduled');
  at('next').classList.toggle('now', Boolean(next) && next.status === 'open');
  at('next').replaceChildren(
    ...(next
      ? [
          line(named(next.name), 'name'),
          line(word(next.status === 'open' ? 'open' : 'planned', datesOf(next))),
          line(word('window', datesOf(next))),
        ]
      : [line(word('none'))]),
  );
  at('visits').replaceChildren(
    ...visits.map((visit) => {
      const item = document.createElement('li');
      const what = document.createElement('span');
      what.append(
        line(named(visit.name), 'name'),
        line(visit.completed_on ? word('done-on', { day: day(visit.completed_on) }) : day(visit.target_date)),
      );
      const state = document.createElement('span');
      state.className = 'state';
      state.textContent = stateOf(visit);
      item.append(what, state);
      return item;
    }),
  );
  for (const box of at('channels').querySelectorAll('input')) {
    // What was chosen meanwhile is newer than what was read.
    if (!isSame || saves === before.saves) box.checked = channels[box.name];
    at(`no-${box.name}`).hidden = overview.channels[box.name];
  }
  show('inside');
  await offerDevice();
}

onPress('enter', async () => {
  shut = 'closed';
  if (localStorage.getItem(OPENED) !== token) {
    about = null;
    const remember = at('remember').checked;
    await ask('POST', '/api/portal/session', { token, remember });
    localStorage.setItem(OPENED, token);
    if (remember) localStorage.setItem(REMEMBERED, '1');
    else localStorage.removeItem(REMEMBERED);
  }
  keepToken(null);
  await enterPage();
  shut = 'nolink';
});
at('person').addEventListener('change', ({ target }) =>
  trying(async () => {
    about = target.value;
    shown = 0;
    sessionStorage.setItem('about', about);
    await enterPage();
  }),
);
onPress('retry', enterPage);
onPress('more', moreResults);
at('channels').addEventListener('change', ({ target }) =>
  trying(async () => {
    const mine = turn;
    saves += 1;
    target.disabled = true;
    try {
      await ask('PATCH', '/api/portal/preferences', { [target.name]: target.checked });
    } catch (fault) {
      // The tick shows what is stored, not what was wished. If the person changed meanwhile, it was read again.
      if (mine === turn) target.checked = !target.checked;
      throw fault;
    } finally {
      target.disabled = false;
    }
    say('saved');
  }),
);
onPress('device', async () => {
  const said = await switchDevice();
  await offerDevice();
  say(said);
});
onPress('feed-make', async () => showFeed(await ask('POST', '/api/portal/calendar-feed')));
onPress('feed-end', async () => {
  await ask('DELETE', '/api/portal/calendar-feed');
  showFeed(undefined);
  say('feed-ended');
});
at('feed-url').addEventListener('focus', ({ target }) => target.select());
const askForLink = once(async () => {
  const given = at('address').value.trim();
  await ask('POST', '/api/portal/new-link', given.includes('@') ? { email: given } : { phone: given }, null);
  say('asked');
});
at('again').addEventListener('submit', (event) => {
  event.preventDefault();
  askForLink();
});
onPress('leave', async () => {
  await ask('POST', '/api/portal/logout');
  about = null;
  sessionStorage.clear();
  for (const kept of [REMEMBERED, OPENED]) localStorage.removeItem(kept);
  show('again');
  say('gone');
});

/** A phone keeps a page for weeks, another tab may have logged out: who comes back sees what is so now. */
const refresh = once(enterPage);
const comeBack = () => {
  // What is being saved is shown when it is.
  const isBusy = at('channels').querySelector(':disabled') !== null;
  if (document.visibilityState === 'visible' && !at('inside').hidden && !isBusy) refresh();
};
document.addEventListener('visibilitychange', comeBack);
window.addEventListener('online', comeBack);

speak(...navigator.languages);
if (token) show('door');
else void trying(enterPage);
