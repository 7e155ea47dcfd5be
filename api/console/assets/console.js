/** The console's own script: every job also works without it. */

/** A mailed link has its token after the #: into the field, and out of the address bar and the history. */
function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  const field = document.querySelector('form.by-link [name=token]');
  if (!field || !token) return;
  field.value = token;
  field.closest('.field').hidden = true;
  history.replaceState(null, '', location.pathname + location.search);
}

/**
 * Asks whether the service is reached. If the same person has logged in again, in another tab, the page's forms get the
 * token of that login.
 */
async function reach() {
  const { user } = document.body.dataset;
  const at = user ? `/console/stay?user=${user}` : document.querySelector('link[rel=icon]').href;
  try {
    const answer = await fetch(at, { redirect: 'manual', cache: 'no-store', signal: AbortSignal.timeout(20_000) });
    const token = answer.headers.get('Form-Token');
    if (token) for (const field of document.querySelectorAll('[name=_token]')) field.value = token;
    return { isThere: answer.status < 500, isIn: token !== null };
  } catch {
    return { isThere: false, isIn: false };
  }
}

function showAway(isAway) {
  const banner = document.getElementById('away');
  if (isAway) banner.setAttribute('role', 'alert');
  banner.classList.toggle('shown', isAway);
}

/**
 * A form is sent once, however often its button is pressed, and only when the service is reached: what was typed would
 * be lost with the page.
 */
function sendOnce() {
  const release = (form) => {
    delete form.dataset.sent;
    form.removeAttribute('aria-busy');
  };
  document.addEventListener('submit', async (event) => {
    const { target: form, submitter } = event;
    if (form.dataset.sent === 'reached') {
      form.dataset.sent = 'yes';
      // A download leaves the page as it is.
      if (submitter?.hasAttribute('data-download')) release(form);
      return;
    }
    event.preventDefault();
    if (form.dataset.sent) return;
    form.dataset.sent = 'asks';
    form.setAttribute('aria-busy', 'true');
    const { isThere } = await reach();
    showAway(!isThere);
    if (!isThere) {
      release(form);
      return;
    }
    form.dataset.sent = 'reached';
    form.requestSubmit(submitter);
  });
  // By the back button the page comes as it was left.
  window.addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('form[data-sent]')) release(form);
  });
}

/** Says before the login ends, and when it has ended. What was typed stays on the page. */
function watchIdle() {
  const seconds = Number(document.body.dataset.idle);
  const banner = document.getElementById('idle');
  if (!seconds || !banner) return;
  const [text, stay, login] = banner.children;
  let timers = [];
  const show = (words, isOver) => {
    text.textContent = words;
    text.hidden = false;
    stay.hidden = isOver;
    login.hidden = !isOver;
    banner.classList.add('shown');
  };
  const begin = () => {
    timers.forEach(clearTimeout);
    banner.classList.remove('shown');
    for (const part of banner.children) part.hidden = true;
    timers = [
      setTimeout(() => show(banner.dataset.warn, false), Math.max(0, seconds - Math.min(120, seconds / 3)) * 1000),
      setTimeout(() => show(banner.dataset.over, true), seconds * 1000),
    ];
  };
  const again = async () => {
    const { isThere, isIn } = await reach();
    if (isIn) begin();
    else if (isThere) show(banner.dataset.over, true);
  };
  stay.addEventListener('click', again);
  // Back from the other tab.
  window.addEventListener('focus', () => {
    if (!login.hidden) void again();
  });
  // A part of the page asked for something, and got the login.
  document.addEventListener('htmx:response:error', ({ detail: { ctx } }) => {
    if (ctx.response.status !== 401) return;
    ctx.status = 'ended';
    show(banner.dataset.over, true);
  });
  begin();
}

/** A refused form: the first field with an error has the focus, or the sentence that says what was refused. */
function showFault() {
  const [answer] = performance.getEntriesByType('navigation');
  if (document.activeElement !== document.body || !(answer?.responseStatus >= 400)) return;
  const field = document.querySelector('main [aria-invalid=true]');
  const notice = document.querySelector('main .notice.alert');
  if (!field && notice) notice.tabIndex = -1;
  (field ?? notice)?.focus();
}

/** The menu closes when something else is pressed, or by Escape. */
function closeMenu() {
  const menu = document.querySelector('details.user-menu');
  document.addEventListener('click', (event) => {
    if (menu && !menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu?.open) return;
    menu.open = false;
    menu.querySelector('summary').focus();
  });
}

/** On a phone menu and tabs are lines that move sideways: the current entry is brought into view. */
function showCurrent() {
  for (const current of document.querySelectorAll(':is(#menu, .tabs, .subpages) [aria-current]')) {
    const line = current.closest('ul, .subpages');
    line.scrollLeft = current.offsetLeft - line.offsetLeft - (line.clientWidth - current.offsetWidth) / 2;
  }
}

/** What a part of the page sends may not arrive either. */
function watchParts() {
  const isSent = ({ detail: { ctx } }) => ctx?.request?.method === 'POST';
  document.addEventListener('htmx:before:request', (event) => {
    if (isSent(event)) showAway(false);
  });
  document.addEventListener('htmx:error', (event) => {
    if (isSent(event)) showAway(true);
  });
}

/** A part that refreshes takes the focus with it: its new self gets it back. */
function keepFocus() {
  let held;
  document.addEventListener('htmx:before:swap', () => {
    const focused = document.activeElement?.closest('a[href]');
    // Another refresh may have taken the link away, and not be done yet.
    if (focused || held?.isConnected) held = focused;
  });
  document.addEventListener('htmx:after:swap', () => {
    if (!held || held.isConnected) return;
    const same = [...document.links].find(({ href }) => href === held.href);
    held = undefined;
    if (document.activeElement === document.body) same?.focus({ preventScroll: true });
  });
}

takeToken();
sendOnce();
watchParts();
keepFocus();
watchIdle();
closeMenu();
showCurrent();
showFault();
// The menu refreshes its counts.
document.addEventListener('htmx:after:swap', showCurrent);
