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

/** A form is sent once, however often its button is pressed. */
function sendOnce() {
  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = 'yes';
    form.setAttribute('aria-busy', 'true');
  });
  // By the back button the page comes as it was left.
  window.addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('form[data-sent]')) {
      delete form.dataset.sent;
      form.removeAttribute('aria-busy');
    }
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
  stay.addEventListener('click', async () => {
    const answer = await fetch('/console/stay', { redirect: 'manual' });
    if (answer.status === 204) begin();
    else show(banner.dataset.over, true);
  });
  begin();
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

takeToken();
sendOnce();
watchIdle();
closeMenu();
showCurrent();
// The menu refreshes its counts.
document.addEventListener('htmx:after:swap', showCurrent);
